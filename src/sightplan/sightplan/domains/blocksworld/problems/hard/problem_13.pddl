(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    r o y p g b - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p) (on y o) (on g b) (on b r)
    (incolumn r c4) (incolumn o c2) (incolumn y c2) (incolumn p c4) (incolumn g c4) (incolumn b c4)
    (clear y) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o g)
    (on p b)
    (clear r)
    (clear o)
    (clear y)
    (clear p)
    (incolumn r c3)
    (incolumn o c1)
    (incolumn y c4)
    (incolumn p c2)
    (incolumn g c1)
    (incolumn b c2))))
