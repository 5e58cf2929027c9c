(define (problem problem_03)
  (:domain blocksworld)
  (:objects
    r o b y p g - block
    c1 c2 c3 c4 - column)
  (:init
    (on r b) (on y r) (on g o)
    (incolumn r c2) (incolumn o c3) (incolumn b c2) (incolumn y c2) (incolumn p c4) (incolumn g c3)
    (clear y) (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (on o r)
    (on b g)
    (on y o)
    (clear b)
    (clear y)
    (incolumn r c1)
    (incolumn o c1)
    (incolumn b c3)
    (incolumn y c1)
    (incolumn p c1)
    (incolumn g c3))))
