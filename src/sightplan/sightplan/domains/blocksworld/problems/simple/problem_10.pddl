(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    g y b - block
    c1 c2 c3 c4 - column)
  (:init
    (on y g)
    (incolumn g c4) (incolumn y c4) (incolumn b c1)
    (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y b)
    (clear g)
    (clear y)
    (incolumn g c1)
    (incolumn y c2)
    (incolumn b c2))))
