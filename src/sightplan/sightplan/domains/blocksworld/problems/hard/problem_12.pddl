(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    y o p r g b - block
    c1 c2 c3 c4 - column)
  (:init
    (on o y) (on p o) (on r g)
    (incolumn y c1) (incolumn o c1) (incolumn p c1) (incolumn r c3) (incolumn g c3) (incolumn b c2)
    (clear p) (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p r)
    (on b p)
    (clear y)
    (clear o)
    (clear g)
    (clear b)
    (incolumn y c2)
    (incolumn o c3)
    (incolumn p c4)
    (incolumn r c4)
    (incolumn g c1)
    (incolumn b c4))))
