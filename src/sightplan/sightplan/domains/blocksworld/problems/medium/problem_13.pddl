(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    g p y o b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o g)
    (incolumn g c2) (incolumn p c1) (incolumn y c4) (incolumn o c2) (incolumn b c3)
    (clear p) (clear y) (clear o) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p g)
    (on o y)
    (clear p)
    (clear o)
    (clear b)
    (incolumn g c1)
    (incolumn p c1)
    (incolumn y c5)
    (incolumn o c5)
    (incolumn b c4))))
