(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    g r o b p y - block
    c1 c2 c3 c4 - column)
  (:init
    (on o y) (on b o) (on y g)
    (incolumn g c1) (incolumn r c3) (incolumn o c1) (incolumn b c1) (incolumn p c4) (incolumn y c1)
    (clear r) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r g)
    (on p b)
    (on y r)
    (clear o)
    (clear p)
    (clear y)
    (incolumn g c4)
    (incolumn r c4)
    (incolumn o c2)
    (incolumn b c1)
    (incolumn p c1)
    (incolumn y c4))))
