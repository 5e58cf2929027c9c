(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    g o p r y b - block
    c1 c2 c3 c4 - column)
  (:init
    (on g r) (on y o) (on b p)
    (incolumn g c1) (incolumn o c2) (incolumn p c3) (incolumn r c1) (incolumn y c2) (incolumn b c3)
    (clear g) (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g o)
    (on p b)
    (on r p)
    (on y r)
    (clear g)
    (clear y)
    (incolumn g c3)
    (incolumn o c3)
    (incolumn p c4)
    (incolumn r c4)
    (incolumn y c4)
    (incolumn b c4))))
