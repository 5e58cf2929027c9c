(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    o r g b y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y g)
    (incolumn o c4) (incolumn r c1) (incolumn g c2) (incolumn b c5) (incolumn y c2)
    (clear o) (clear r) (clear b) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o y)
    (on b r)
    (clear o)
    (clear g)
    (clear b)
    (incolumn o c1)
    (incolumn r c4)
    (incolumn g c3)
    (incolumn b c4)
    (incolumn y c1))))
