(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    p r b y g o - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p) (on b g) (on y r)
    (incolumn p c1) (incolumn r c1) (incolumn b c3) (incolumn y c1) (incolumn g c3) (incolumn o c4)
    (clear b) (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p o)
    (on g y)
    (clear p)
    (clear r)
    (clear b)
    (clear g)
    (incolumn p c2)
    (incolumn r c4)
    (incolumn b c3)
    (incolumn y c1)
    (incolumn g c1)
    (incolumn o c2))))
