(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    p o g b r y - block
    c1 c2 c3 c4 - column)
  (:init
    (on o r) (on g y) (on b g) (on y p)
    (incolumn p c4) (incolumn o c1) (incolumn g c4) (incolumn b c4) (incolumn r c1) (incolumn y c4)
    (clear o) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p y)
    (on o g)
    (on b r)
    (clear p)
    (clear o)
    (clear b)
    (incolumn p c3)
    (incolumn o c2)
    (incolumn g c2)
    (incolumn b c1)
    (incolumn r c1)
    (incolumn y c3))))
