(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    g r b - block
    c1 c2 c3 c4 - column)
  (:init
    (on r g)
    (incolumn g c1) (incolumn r c1) (incolumn b c2)
    (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b g)
    (clear r)
    (clear b)
    (incolumn g c3)
    (incolumn r c1)
    (incolumn b c3))))
