(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    y r g p o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y r) (on g p)
    (incolumn y c2) (incolumn r c2) (incolumn g c3) (incolumn p c3) (incolumn o c4)
    (clear y) (clear g) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g o)
    (on p g)
    (clear y)
    (clear r)
    (clear p)
    (incolumn y c5)
    (incolumn r c4)
    (incolumn g c1)
    (incolumn p c1)
    (incolumn o c1))))
