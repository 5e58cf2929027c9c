(define (problem problem_05)
  (:domain blocksworld)
  (:objects
    g r p o b y - block
    c1 c2 c3 c4 - column)
  (:init
    (on g o) (on p g) (on b p)
    (incolumn g c1) (incolumn r c3) (incolumn p c1) (incolumn o c1) (incolumn b c1) (incolumn y c2)
    (clear r) (clear b) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o p)
    (on y r)
    (clear g)
    (clear o)
    (clear b)
    (clear y)
    (incolumn g c2)
    (incolumn r c3)
    (incolumn p c1)
    (incolumn o c1)
    (incolumn b c4)
    (incolumn y c3))))
