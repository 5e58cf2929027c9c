(define (problem problem_02)
  (:domain blocksworld)
  (:objects
    g y r o p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y r) (on o p)
    (incolumn g c5) (incolumn y c3) (incolumn r c3) (incolumn o c4) (incolumn p c4)
    (clear g) (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o r)
    (clear g)
    (clear y)
    (clear o)
    (clear p)
    (incolumn g c5)
    (incolumn y c3)
    (incolumn r c2)
    (incolumn o c2)
    (incolumn p c1))))
