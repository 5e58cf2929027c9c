(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    b p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on p b)
    (incolumn b c4) (incolumn p c4) (incolumn o c2)
    (clear p) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o b)
    (clear p)
    (clear o)
    (incolumn b c3)
    (incolumn p c4)
    (incolumn o c3))))
