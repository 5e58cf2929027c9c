(define (problem problem_17)
  (:domain blocksworld)
  (:objects
    g r b y o p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r g) (on p y)
    (incolumn g c4) (incolumn r c4) (incolumn b c1) (incolumn y c3) (incolumn o c2) (incolumn p c3)
    (clear r) (clear b) (clear o) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b r)
    (on y b)
    (on p o)
    (clear g)
    (clear y)
    (clear p)
    (incolumn g c3)
    (incolumn r c1)
    (incolumn b c1)
    (incolumn y c1)
    (incolumn o c2)
    (incolumn p c2))))
