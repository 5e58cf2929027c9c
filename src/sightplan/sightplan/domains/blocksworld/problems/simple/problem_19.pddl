(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    y r o - block
    c1 c2 c3 c4 - column)
  (:init
    (on y r)
    (incolumn y c4) (incolumn r c4) (incolumn o c2)
    (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y o)
    (clear y)
    (clear r)
    (incolumn y c4)
    (incolumn r c2)
    (incolumn o c4))))
