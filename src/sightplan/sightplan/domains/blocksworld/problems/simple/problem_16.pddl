(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    y r g - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn y c2) (incolumn r c3) (incolumn g c1)
    (clear y) (clear r) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r y)
    (clear r)
    (clear g)
    (incolumn y c3)
    (incolumn r c3)
    (incolumn g c2))))
