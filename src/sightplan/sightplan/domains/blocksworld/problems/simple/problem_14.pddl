(define (problem problem_14)
  (:domain blocksworld)
  (:objects
    y p b - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y)
    (incolumn y c2) (incolumn p c1) (incolumn b c2)
    (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear y)
    (clear p)
    (clear b)
    (incolumn y c3)
    (incolumn p c2)
    (incolumn b c4))))
