(define (problem problem_02)
  (:domain blocksworld)
  (:objects
    p o b - block
    c1 c2 c3 c4 - column)
  (:init
    (on b p)
    (incolumn p c3) (incolumn o c1) (incolumn b c3)
    (clear o) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p o)
    (clear p)
    (clear b)
    (incolumn p c3)
    (incolumn o c3)
    (incolumn b c2))))
