(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    y r o p g - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y o) (on g r)
    (incolumn y c1) (incolumn r c2) (incolumn o c1) (incolumn p c5) (incolumn g c2)
    (clear y) (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r g)
    (on p o)
    (on g p)
    (clear y)
    (clear r)
    (incolumn y c3)
    (incolumn r c2)
    (incolumn o c2)
    (incolumn p c2)
    (incolumn g c2))))
