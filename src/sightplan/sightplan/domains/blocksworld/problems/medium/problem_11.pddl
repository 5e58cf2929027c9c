(define (problem problem_11)
  (:domain blocksworld)
  (:objects
    b r o p y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b r) (on o p)
    (incolumn b c5) (incolumn r c5) (incolumn o c4) (incolumn p c4) (incolumn y c3)
    (clear b) (clear o) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b r)
    (on r y)
    (on p b)
    (on y o)
    (clear p)
    (incolumn b c2)
    (incolumn r c2)
    (incolumn o c2)
    (incolumn p c2)
    (incolumn y c2))))
