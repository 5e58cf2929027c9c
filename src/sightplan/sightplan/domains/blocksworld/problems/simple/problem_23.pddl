(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    p y g - block
    c1 c2 c3 c4 - column)
  (:init
    (on p g)
    (incolumn p c1) (incolumn y c2) (incolumn g c1)
    (clear p) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g y)
    (clear p)
    (clear g)
    (incolumn p c2)
    (incolumn y c1)
    (incolumn g c1))))
