(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    y p r - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p)
    (incolumn y c3) (incolumn p c1) (incolumn r c1)
    (clear y) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear y)
    (clear p)
    (clear r)
    (incolumn y c1)
    (incolumn p c2)
    (incolumn r c4))))
