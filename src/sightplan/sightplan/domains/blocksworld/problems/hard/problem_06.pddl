(define (problem problem_06)
  (:domain blocksworld)
  (:objects
    o r b g p y - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p) (on b y) (on g r)
    (incolumn o c3) (incolumn r c4) (incolumn b c2) (incolumn g c4) (incolumn p c4) (incolumn y c2)
    (clear o) (clear b) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r o)
    (on p y)
    (on y r)
    (clear b)
    (clear g)
    (clear p)
    (incolumn o c1)
    (incolumn r c1)
    (incolumn b c2)
    (incolumn g c4)
    (incolumn p c1)
    (incolumn y c1))))
