(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    o y g - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn o c4) (incolumn y c2) (incolumn g c3)
    (clear o) (clear y) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear o)
    (clear y)
    (clear g)
    (incolumn o c2)
    (incolumn y c4)
    (incolumn g c3))))
