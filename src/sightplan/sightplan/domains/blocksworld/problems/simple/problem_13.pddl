(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    o g y - block
    c1 c2 c3 c4 - column)
  (:init
    (on y g)
    (incolumn o c1) (incolumn g c2) (incolumn y c2)
    (clear o) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g o)
    (clear g)
    (clear y)
    (incolumn o c3)
    (incolumn g c3)
    (incolumn y c4))))
