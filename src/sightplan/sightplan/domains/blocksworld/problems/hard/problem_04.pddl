(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    g b p r y o - block
    c1 c2 c3 c4 - column)
  (:init
    (on p o) (on r p) (on y b) (on o g)
    (incolumn g c2) (incolumn b c1) (incolumn p c2) (incolumn r c2) (incolumn y c1) (incolumn o c2)
    (clear r) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g y)
    (on r b)
    (on o p)
    (clear g)
    (clear r)
    (clear o)
    (incolumn g c1)
    (incolumn b c3)
    (incolumn p c2)
    (incolumn r c3)
    (incolumn y c1)
    (incolumn o c2))))
