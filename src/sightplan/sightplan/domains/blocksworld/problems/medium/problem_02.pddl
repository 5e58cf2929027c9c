(define (problem problem_02)
  (:domain blocksworld)
  (:objects
    b p g y o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on p o) (on g b) (on y p)
    (incolumn b c2) (incolumn p c5) (incolumn g c2) (incolumn y c5) (incolumn o c5)
    (clear g) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o b)
    (clear p)
    (clear g)
    (clear y)
    (clear o)
    (incolumn b c3)
    (incolumn p c1)
    (incolumn g c2)
    (incolumn y c5)
    (incolumn o c3))))
