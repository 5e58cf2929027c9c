(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    r p o b g y - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y) (on y r)
    (incolumn r c2) (incolumn p c1) (incolumn o c4) (incolumn b c2) (incolumn g c3) (incolumn y c2)
    (clear p) (clear o) (clear b) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r o)
    (on g p)
    (on y r)
    (clear b)
    (clear g)
    (clear y)
    (incolumn r c3)
    (incolumn p c4)
    (incolumn o c3)
    (incolumn b c2)
    (incolumn g c4)
    (incolumn y c3))))
