(define (problem problem_07)
  (:domain blocksworld)
  (:objects
    r b g p y o - block
    c1 c2 c3 c4 - column)
  (:init
    (on r g) (on g p) (on y o)
    (incolumn r c3) (incolumn b c1) (incolumn g c3) (incolumn p c3) (incolumn y c4) (incolumn o c4)
    (clear r) (clear b) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b r)
    (on g p)
    (clear b)
    (clear g)
    (clear y)
    (clear o)
    (incolumn r c3)
    (incolumn b c3)
    (incolumn g c1)
    (incolumn p c1)
    (incolumn y c2)
    (incolumn o c4))))
