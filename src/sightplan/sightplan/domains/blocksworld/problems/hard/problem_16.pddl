(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    g y p o r b - block
    c1 c2 c3 c4 - column)
  (:init
    (on g r) (on o y) (on b g)
    (incolumn g c1) (incolumn y c4) (incolumn p c2) (incolumn o c4) (incolumn r c1) (incolumn b c1)
    (clear p) (clear o) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g p)
    (on o b)
    (on r y)
    (clear g)
    (clear o)
    (clear r)
    (incolumn g c4)
    (incolumn y c1)
    (incolumn p c4)
    (incolumn o c2)
    (incolumn r c1)
    (incolumn b c2))))
