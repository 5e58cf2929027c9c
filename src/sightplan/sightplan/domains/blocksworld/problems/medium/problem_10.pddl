(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    r o y g p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o p) (on g y)
    (incolumn r c1) (incolumn o c4) (incolumn y c2) (incolumn g c2) (incolumn p c4)
    (clear r) (clear o) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r y)
    (clear r)
    (clear o)
    (clear g)
    (clear p)
    (incolumn r c3)
    (incolumn o c5)
    (incolumn y c3)
    (incolumn g c1)
    (incolumn p c2))))
