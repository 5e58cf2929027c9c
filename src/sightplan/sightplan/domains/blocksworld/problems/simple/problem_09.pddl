(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    y r p - block
    c1 c2 c3 c4 - column)
  (:init
    (on y p)
    (incolumn y c4) (incolumn r c1) (incolumn p c4)
    (clear y) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y p)
    (clear y)
    (clear r)
    (incolumn y c1)
    (incolumn r c4)
    (incolumn p c1))))
