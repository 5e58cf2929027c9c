(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    y p o g b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y p) (on p o) (on g y)
    (incolumn y c2) (incolumn p c2) (incolumn o c2) (incolumn g c2) (incolumn b c1)
    (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on y b)
    (on o g)
    (clear y)
    (clear p)
    (clear o)
    (incolumn y c4)
    (incolumn p c3)
    (incolumn o c5)
    (incolumn g c5)
    (incolumn b c4))))
