(define (problem problem_17)
  (:domain blocksworld)
  (:objects
    o r b g y p - block
    c1 c2 c3 c4 - column)
  (:init
    (on o r) (on r b) (on p g)
    (incolumn o c2) (incolumn r c2) (incolumn b c2) (incolumn g c4) (incolumn y c1) (incolumn p c4)
    (clear o) (clear y) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y p)
    (on p o)
    (clear r)
    (clear b)
    (clear g)
    (clear y)
    (incolumn o c3)
    (incolumn r c2)
    (incolumn b c4)
    (incolumn g c1)
    (incolumn y c3)
    (incolumn p c3))))
