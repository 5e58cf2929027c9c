(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    b p g r y o - block
    c1 c2 c3 c4 - column)
  (:init
    (on b r) (on p g) (on o b)
    (incolumn b c1) (incolumn p c3) (incolumn g c3) (incolumn r c1) (incolumn y c2) (incolumn o c1)
    (clear p) (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (on y g)
    (on o b)
    (clear r)
    (clear y)
    (clear o)
    (incolumn b c3)
    (incolumn p c2)
    (incolumn g c1)
    (incolumn r c2)
    (incolumn y c1)
    (incolumn o c3))))
