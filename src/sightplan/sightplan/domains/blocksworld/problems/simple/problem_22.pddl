(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    p g r - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn p c2) (incolumn g c4) (incolumn r c3)
    (clear p) (clear g) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (clear g)
    (clear r)
    (incolumn p c1)
    (incolumn g c3)
    (incolumn r c1))))
