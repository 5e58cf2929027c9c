(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    r o p g y b - block
    c1 c2 c3 c4 - column)
  (:init
    (on r o) (on p y) (on y g)
    (incolumn r c4) (incolumn o c4) (incolumn p c2) (incolumn g c2) (incolumn y c2) (incolumn b c3)
    (clear r) (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r b)
    (on o p)
    (on g y)
    (clear r)
    (clear o)
    (clear g)
    (incolumn r c3)
    (incolumn o c1)
    (incolumn p c1)
    (incolumn g c4)
    (incolumn y c4)
    (incolumn b c3))))
