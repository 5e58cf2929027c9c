(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    r o g b y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r y) (on o b)
    (incolumn r c4) (incolumn o c2) (incolumn g c5) (incolumn b c2) (incolumn y c4)
    (clear r) (clear o) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g o)
    (on b r)
    (clear g)
    (clear b)
    (clear y)
    (incolumn r c5)
    (incolumn o c2)
    (incolumn g c2)
    (incolumn b c5)
    (incolumn y c4))))
