(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    o b r y g p - block
    c1 c2 c3 c4 - column)
  (:init
    (on o b) (on b r) (on y o) (on g p)
    (incolumn o c2) (incolumn b c2) (incolumn r c2) (incolumn y c2) (incolumn g c3) (incolumn p c3)
    (clear y) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b g)
    (on r p)
    (clear o)
    (clear b)
    (clear r)
    (clear y)
    (incolumn o c2)
    (incolumn b c4)
    (incolumn r c3)
    (incolumn y c1)
    (incolumn g c4)
    (incolumn p c3))))
