(define (problem problem_17)
  (:domain blocksworld)
  (:objects
    b y g o r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r g)
    (incolumn b c2) (incolumn y c5) (incolumn g c4) (incolumn o c1) (incolumn r c4)
    (clear b) (clear y) (clear o) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b r)
    (on g y)
    (clear b)
    (clear g)
    (clear o)
    (incolumn b c5)
    (incolumn y c4)
    (incolumn g c4)
    (incolumn o c2)
    (incolumn r c5))))
