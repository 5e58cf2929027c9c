(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    y b o - block
    c1 c2 c3 c4 - column)
  (:init
    (on o b)
    (incolumn y c4) (incolumn b c3) (incolumn o c3)
    (clear y) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear y)
    (clear b)
    (clear o)
    (incolumn y c1)
    (incolumn b c4)
    (incolumn o c2))))
