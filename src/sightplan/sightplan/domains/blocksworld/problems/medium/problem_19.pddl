(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    p b g o y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b y)
    (incolumn p c4) (incolumn b c3) (incolumn g c2) (incolumn o c5) (incolumn y c3)
    (clear p) (clear b) (clear g) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b o)
    (clear p)
    (clear b)
    (clear g)
    (clear y)
    (incolumn p c5)
    (incolumn b c2)
    (incolumn g c1)
    (incolumn o c2)
    (incolumn y c4))))
