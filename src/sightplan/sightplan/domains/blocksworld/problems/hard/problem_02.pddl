(define (problem problem_02)
  (:domain blocksworld)
  (:objects
    o b g p y r - block
    c1 c2 c3 c4 - column)
  (:init
    (on o r) (on b g) (on g p) (on y o)
    (incolumn o c4) (incolumn b c3) (incolumn g c3) (incolumn p c3) (incolumn y c4) (incolumn r c4)
    (clear b) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o g)
    (on g y)
    (on r b)
    (clear o)
    (clear p)
    (clear r)
    (incolumn o c1)
    (incolumn b c2)
    (incolumn g c1)
    (incolumn p c4)
    (incolumn y c1)
    (incolumn r c2))))
