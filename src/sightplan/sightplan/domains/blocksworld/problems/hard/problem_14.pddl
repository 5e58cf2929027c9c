(define (problem problem_14)
  (:domain blocksworld)
  (:objects
    b o r g p y - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y) (on o g) (on p r) (on y p)
    (incolumn b c4) (incolumn o c2) (incolumn r c4) (incolumn g c2) (incolumn p c4) (incolumn y c4)
    (clear b) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b g)
    (on o r)
    (on g y)
    (clear b)
    (clear o)
    (clear p)
    (incolumn b c3)
    (incolumn o c4)
    (incolumn r c4)
    (incolumn g c3)
    (incolumn p c1)
    (incolumn y c3))))
