(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    b y o - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y)
    (incolumn b c4) (incolumn y c4) (incolumn o c1)
    (clear b) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b y)
    (clear b)
    (clear o)
    (incolumn b c3)
    (incolumn y c3)
    (incolumn o c4))))
