(define (problem problem_05)
  (:domain blocksworld)
  (:objects
    g p y - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn g c4) (incolumn p c3) (incolumn y c1)
    (clear g) (clear p) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear g)
    (clear p)
    (clear y)
    (incolumn g c2)
    (incolumn p c4)
    (incolumn y c3))))
