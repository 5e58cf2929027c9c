(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    o y r b g p - block
    c1 c2 c3 c4 - column)
  (:init
    (on y r) (on b p) (on g o)
    (incolumn o c3) (incolumn y c1) (incolumn r c1) (incolumn b c2) (incolumn g c3) (incolumn p c2)
    (clear y) (clear b) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y o)
    (on b y)
    (clear r)
    (clear b)
    (clear g)
    (clear p)
    (incolumn o c2)
    (incolumn y c2)
    (incolumn r c3)
    (incolumn b c2)
    (incolumn g c4)
    (incolumn p c1))))
