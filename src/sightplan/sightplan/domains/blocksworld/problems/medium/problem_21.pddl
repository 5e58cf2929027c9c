(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    b g p o y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on p b) (on y g)
    (incolumn b c2) (incolumn g c4) (incolumn p c2) (incolumn o c3) (incolumn y c4)
    (clear p) (clear o) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b y)
    (on p g)
    (clear b)
    (clear p)
    (clear o)
    (incolumn b c2)
    (incolumn g c4)
    (incolumn p c4)
    (incolumn o c5)
    (incolumn y c2))))
