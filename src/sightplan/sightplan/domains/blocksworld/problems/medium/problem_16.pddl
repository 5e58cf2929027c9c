(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    o g y p b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y b) (on p g) (on b p)
    (incolumn o c4) (incolumn g c3) (incolumn y c3) (incolumn p c3) (incolumn b c3)
    (clear o) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o g)
    (on y o)
    (on p y)
    (clear p)
    (clear b)
    (incolumn o c3)
    (incolumn g c3)
    (incolumn y c3)
    (incolumn p c3)
    (incolumn b c1))))
