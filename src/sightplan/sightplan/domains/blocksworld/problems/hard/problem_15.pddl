(define (problem problem_15)
  (:domain blocksworld)
  (:objects
    b r y g o p - block
    c1 c2 c3 c4 - column)
  (:init
    (on o r) (on p b)
    (incolumn b c1) (incolumn r c2) (incolumn y c3) (incolumn g c4) (incolumn o c2) (incolumn p c1)
    (clear y) (clear g) (clear o) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o r)
    (on p y)
    (clear b)
    (clear g)
    (clear o)
    (clear p)
    (incolumn b c2)
    (incolumn r c1)
    (incolumn y c3)
    (incolumn g c4)
    (incolumn o c1)
    (incolumn p c3))))
