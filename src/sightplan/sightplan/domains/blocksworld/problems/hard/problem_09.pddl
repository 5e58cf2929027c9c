(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    r b y o p g - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p) (on o y) (on g b)
    (incolumn r c2) (incolumn b c4) (incolumn y c3) (incolumn o c3) (incolumn p c2) (incolumn g c4)
    (clear r) (clear o) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y b)
    (on g o)
    (clear r)
    (clear y)
    (clear p)
    (clear g)
    (incolumn r c1)
    (incolumn b c4)
    (incolumn y c4)
    (incolumn o c3)
    (incolumn p c2)
    (incolumn g c3))))
