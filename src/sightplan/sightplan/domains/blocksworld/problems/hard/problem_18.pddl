(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    b r g y o p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r b) (on y p) (on p g)
    (incolumn b c3) (incolumn r c3) (incolumn g c4) (incolumn y c4) (incolumn o c2) (incolumn p c4)
    (clear r) (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r y)
    (on p o)
    (clear b)
    (clear r)
    (clear g)
    (clear p)
    (incolumn b c1)
    (incolumn r c2)
    (incolumn g c4)
    (incolumn y c2)
    (incolumn o c3)
    (incolumn p c3))))
