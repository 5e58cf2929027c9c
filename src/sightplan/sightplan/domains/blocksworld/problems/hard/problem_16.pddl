(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    r p g y o b - block
    c1 c2 c3 c4 - column)
  (:init
    (on g r) (on o b) (on b y)
    (incolumn r c2) (incolumn p c4) (incolumn g c2) (incolumn y c1) (incolumn o c1) (incolumn b c1)
    (clear p) (clear g) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g o)
    (on b p)
    (clear r)
    (clear g)
    (clear y)
    (clear b)
    (incolumn r c2)
    (incolumn p c1)
    (incolumn g c4)
    (incolumn y c3)
    (incolumn o c4)
    (incolumn b c1))))
