(define (problem problem_06)
  (:domain blocksworld)
  (:objects
    o p b - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn o c3) (incolumn p c2) (incolumn b c4)
    (clear o) (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear o)
    (clear p)
    (clear b)
    (incolumn o c4)
    (incolumn p c1)
    (incolumn b c2))))
