(define (problem problem_14)
  (:domain blocksworld)
  (:objects
    y o b - block
    c1 c2 c3 c4 - column)
  (:init
    (on y o)
    (incolumn y c3) (incolumn o c3) (incolumn b c2)
    (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y o)
    (clear y)
    (clear b)
    (incolumn y c4)
    (incolumn o c4)
    (incolumn b c1))))
