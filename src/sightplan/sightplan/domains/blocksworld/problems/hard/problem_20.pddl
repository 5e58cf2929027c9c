(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    o r p b g y - block
    c1 c2 c3 c4 - column)
  (:init
    (on o g) (on g b) (on y r)
    (incolumn o c3) (incolumn r c4) (incolumn p c1) (incolumn b c3) (incolumn g c3) (incolumn y c4)
    (clear o) (clear p) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g p)
    (on y g)
    (clear o)
    (clear r)
    (clear b)
    (clear y)
    (incolumn o c3)
    (incolumn r c1)
    (incolumn p c2)
    (incolumn b c4)
    (incolumn g c2)
    (incolumn y c2))))
