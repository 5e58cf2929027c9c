(define (problem problem_07)
  (:domain blocksworld)
  (:objects
    b r p g o y - block
    c1 c2 c3 c4 - column)
  (:init
    (on b o) (on p y) (on g r)
    (incolumn b c1) (incolumn r c2) (incolumn p c4) (incolumn g c2) (incolumn o c1) (incolumn y c4)
    (clear b) (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r o)
    (on p r)
    (on o b)
    (on y g)
    (clear p)
    (clear y)
    (incolumn b c2)
    (incolumn r c2)
    (incolumn p c2)
    (incolumn g c1)
    (incolumn o c2)
    (incolumn y c1))))
