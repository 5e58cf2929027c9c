(define (problem problem_08)
  (:domain blocksworld)
  (:objects
    g r b o p y - block
    c1 c2 c3 c4 - column)
  (:init
    (on r o) (on b y) (on y r)
    (incolumn g c1) (incolumn r c4) (incolumn b c4) (incolumn o c4) (incolumn p c2) (incolumn y c4)
    (clear g) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b y)
    (on o p)
    (clear g)
    (clear r)
    (clear b)
    (clear o)
    (incolumn g c3)
    (incolumn r c4)
    (incolumn b c1)
    (incolumn o c2)
    (incolumn p c2)
    (incolumn y c1))))
