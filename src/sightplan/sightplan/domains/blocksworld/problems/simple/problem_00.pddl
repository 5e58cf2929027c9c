(define (problem problem_00)
  (:domain blocksworld)
  (:objects
    o p g - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn o c2) (incolumn p c4) (incolumn g c3)
    (clear o) (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o g)
    (clear o)
    (clear p)
    (incolumn o c2)
    (incolumn p c1)
    (incolumn g c2))))
