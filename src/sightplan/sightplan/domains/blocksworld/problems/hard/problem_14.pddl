(define (problem problem_14)
  (:domain blocksworld)
  (:objects
    b g y p r o - block
    c1 c2 c3 c4 - column)
  (:init
    (on b g) (on o r)
    (incolumn b c3) (incolumn g c3) (incolumn y c1) (incolumn p c4) (incolumn r c2) (incolumn o c2)
    (clear b) (clear y) (clear p) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y r)
    (on r p)
    (on o b)
    (clear g)
    (clear y)
    (clear o)
    (incolumn b c4)
    (incolumn g c3)
    (incolumn y c1)
    (incolumn p c1)
    (incolumn r c1)
    (incolumn o c4))))
