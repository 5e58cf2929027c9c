(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    y r b - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn y c3) (incolumn r c1) (incolumn b c2)
    (clear y) (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y r)
    (clear y)
    (clear b)
    (incolumn y c2)
    (incolumn r c2)
    (incolumn b c4))))
