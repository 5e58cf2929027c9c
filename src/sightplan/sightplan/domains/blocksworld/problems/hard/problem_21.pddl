(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    y g b p r o - block
    c1 c2 c3 c4 - column)
  (:init
    (on y r) (on g o) (on b p)
    (incolumn y c3) (incolumn g c1) (incolumn b c4) (incolumn p c4) (incolumn r c3) (incolumn o c1)
    (clear y) (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y o)
    (on p g)
    (clear y)
    (clear b)
    (clear p)
    (clear r)
    (incolumn y c2)
    (incolumn g c1)
    (incolumn b c3)
    (incolumn p c1)
    (incolumn r c4)
    (incolumn o c2))))
