(define (problem problem_06)
  (:domain blocksworld)
  (:objects
    g p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on g p)
    (incolumn g c4) (incolumn p c4) (incolumn o c1)
    (clear g) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g p)
    (on p o)
    (clear g)
    (incolumn g c2)
    (incolumn p c2)
    (incolumn o c2))))
