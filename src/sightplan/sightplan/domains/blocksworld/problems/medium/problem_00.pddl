(define (problem problem_00)
  (:domain blocksworld)
  (:objects
    g y p o b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y p) (on b o)
    (incolumn g c5) (incolumn y c4) (incolumn p c4) (incolumn o c2) (incolumn b c2)
    (clear g) (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g b)
    (on y o)
    (on p y)
    (clear g)
    (clear p)
    (incolumn g c1)
    (incolumn y c4)
    (incolumn p c4)
    (incolumn o c4)
    (incolumn b c1))))
