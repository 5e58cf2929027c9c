(define (problem problem_00)
  (:domain blocksworld)
  (:objects
    b o y p g r - block
    c1 c2 c3 c4 - column)
  (:init
    (on b o) (on p r) (on r g)
    (incolumn b c4) (incolumn o c4) (incolumn y c3) (incolumn p c2) (incolumn g c2) (incolumn r c2)
    (clear b) (clear y) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b p)
    (on o y)
    (on y b)
    (on g r)
    (clear o)
    (clear g)
    (incolumn b c3)
    (incolumn o c3)
    (incolumn y c3)
    (incolumn p c3)
    (incolumn g c2)
    (incolumn r c2))))
