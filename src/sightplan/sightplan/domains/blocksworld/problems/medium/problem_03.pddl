(define (problem problem_03)
  (:domain blocksworld)
  (:objects
    y r o b p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r y) (on b r)
    (incolumn y c2) (incolumn r c2) (incolumn o c5) (incolumn b c2) (incolumn p c1)
    (clear o) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p r)
    (clear y)
    (clear o)
    (clear b)
    (clear p)
    (incolumn y c4)
    (incolumn r c2)
    (incolumn o c5)
    (incolumn b c3)
    (incolumn p c2))))
