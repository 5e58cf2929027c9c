(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    g y r b p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on y p) (on b r) (on p o)
    (incolumn g c3) (incolumn y c4) (incolumn r c2) (incolumn b c2) (incolumn p c4) (incolumn o c4)
    (clear g) (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g b)
    (on p g)
    (on o p)
    (clear y)
    (clear r)
    (clear o)
    (incolumn g c1)
    (incolumn y c2)
    (incolumn r c3)
    (incolumn b c1)
    (incolumn p c1)
    (incolumn o c1))))
