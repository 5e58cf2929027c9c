(define (problem problem_11)
  (:domain blocksworld)
  (:objects
    p g y - block
    c1 c2 c3 c4 - column)
  (:init
    (on p y)
    (incolumn p c1) (incolumn g c2) (incolumn y c1)
    (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear p)
    (clear g)
    (clear y)
    (incolumn p c3)
    (incolumn g c4)
    (incolumn y c2))))
