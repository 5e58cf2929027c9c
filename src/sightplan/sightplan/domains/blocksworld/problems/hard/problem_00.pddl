(define (problem problem_00)
  (:domain blocksworld)
  (:objects
    y p g o r b - block
    c1 c2 c3 c4 - column)
  (:init
    (on p y) (on g b) (on b r)
    (incolumn y c1) (incolumn p c1) (incolumn g c4) (incolumn o c2) (incolumn r c4) (incolumn b c4)
    (clear p) (clear g) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g r)
    (on o g)
    (on b o)
    (clear y)
    (clear p)
    (clear b)
    (incolumn y c1)
    (incolumn p c3)
    (incolumn g c4)
    (incolumn o c4)
    (incolumn r c4)
    (incolumn b c4))))
