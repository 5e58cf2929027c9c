(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    y g r - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn y c2) (incolumn g c3) (incolumn r c1)
    (clear y) (clear g) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y g)
    (clear y)
    (clear r)
    (incolumn y c4)
    (incolumn g c4)
    (incolumn r c3))))
