(define (problem problem_14)
  (:domain blocksworld)
  (:objects
    g r y p o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r g) (on y r)
    (incolumn g c4) (incolumn r c4) (incolumn y c4) (incolumn p c3) (incolumn o c5)
    (clear y) (clear p) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g o)
    (clear g)
    (clear r)
    (clear y)
    (clear p)
    (incolumn g c2)
    (incolumn r c1)
    (incolumn y c3)
    (incolumn p c4)
    (incolumn o c2))))
