(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    r y b o g p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r b) (on y o) (on g r)
    (incolumn r c3) (incolumn y c1) (incolumn b c3) (incolumn o c1) (incolumn g c3) (incolumn p c4)
    (clear y) (clear g) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y r)
    (on b o)
    (on o p)
    (clear y)
    (clear b)
    (clear g)
    (incolumn r c2)
    (incolumn y c2)
    (incolumn b c4)
    (incolumn o c4)
    (incolumn g c3)
    (incolumn p c4))))
