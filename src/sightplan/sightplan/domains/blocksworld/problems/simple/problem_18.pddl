(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    y r p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p)
    (incolumn y c3) (incolumn r c2) (incolumn p c2)
    (clear y) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p y)
    (clear r)
    (clear p)
    (incolumn y c2)
    (incolumn r c3)
    (incolumn p c2))))
