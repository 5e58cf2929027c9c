(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    y r o p b g - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p) (on b r) (on g o)
    (incolumn y c4) (incolumn r c3) (incolumn o c2) (incolumn p c3) (incolumn b c3) (incolumn g c2)
    (clear y) (clear b) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r o)
    (on o p)
    (on b g)
    (clear y)
    (clear r)
    (clear b)
    (incolumn y c3)
    (incolumn r c1)
    (incolumn o c1)
    (incolumn p c1)
    (incolumn b c2)
    (incolumn g c2))))
