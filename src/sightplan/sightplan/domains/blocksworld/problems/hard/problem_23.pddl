(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    o y p g r b - block
    c1 c2 c3 c4 - column)
  (:init
    (on o y) (on y r) (on g o)
    (incolumn o c1) (incolumn y c1) (incolumn p c3) (incolumn g c1) (incolumn r c1) (incolumn b c4)
    (clear p) (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y p)
    (on g r)
    (clear o)
    (clear y)
    (clear g)
    (clear b)
    (incolumn o c4)
    (incolumn y c1)
    (incolumn p c1)
    (incolumn g c3)
    (incolumn r c3)
    (incolumn b c2))))
