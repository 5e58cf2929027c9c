(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    r p o b g y - block
    c1 c2 c3 c4 - column)
  (:init
    (on r b) (on g o) (on y r)
    (incolumn r c4) (incolumn p c3) (incolumn o c2) (incolumn b c4) (incolumn g c2) (incolumn y c4)
    (clear p) (clear g) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p b)
    (on o g)
    (on y p)
    (clear r)
    (clear o)
    (clear y)
    (incolumn r c4)
    (incolumn p c2)
    (incolumn o c3)
    (incolumn b c2)
    (incolumn g c3)
    (incolumn y c2))))
