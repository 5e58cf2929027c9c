(define (problem problem_05)
  (:domain blocksworld)
  (:objects
    y o r b g p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r g) (on g o)
    (incolumn y c3) (incolumn o c2) (incolumn r c2) (incolumn b c1) (incolumn g c2) (incolumn p c4)
    (clear y) (clear r) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y g)
    (on b p)
    (clear y)
    (clear o)
    (clear r)
    (clear b)
    (incolumn y c2)
    (incolumn o c1)
    (incolumn r c3)
    (incolumn b c4)
    (incolumn g c2)
    (incolumn p c4))))
