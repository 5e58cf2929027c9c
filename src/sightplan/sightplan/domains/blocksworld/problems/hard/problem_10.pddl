(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    p o y b r g - block
    c1 c2 c3 c4 - column)
  (:init
    (on o p) (on b g) (on r y)
    (incolumn p c2) (incolumn o c2) (incolumn y c1) (incolumn b c3) (incolumn r c1) (incolumn g c3)
    (clear o) (clear b) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p g)
    (on b p)
    (clear o)
    (clear y)
    (clear b)
    (clear r)
    (incolumn p c4)
    (incolumn o c2)
    (incolumn y c3)
    (incolumn b c4)
    (incolumn r c1)
    (incolumn g c4))))
