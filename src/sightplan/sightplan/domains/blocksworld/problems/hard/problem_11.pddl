(define (problem problem_11)
  (:domain blocksworld)
  (:objects
    y r p o b g - block
    c1 c2 c3 c4 - column)
  (:init
    (on y o) (on p r) (on b g)
    (incolumn y c3) (incolumn r c4) (incolumn p c4) (incolumn o c3) (incolumn b c1) (incolumn g c1)
    (clear y) (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p g)
    (on b o)
    (on g r)
    (clear y)
    (clear p)
    (clear b)
    (incolumn y c4)
    (incolumn r c2)
    (incolumn p c2)
    (incolumn o c3)
    (incolumn b c3)
    (incolumn g c2))))
