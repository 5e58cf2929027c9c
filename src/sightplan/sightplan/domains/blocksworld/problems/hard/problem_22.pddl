(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    r o g p b y - block
    c1 c2 c3 c4 - column)
  (:init
    (on g y) (on b r)
    (incolumn r c1) (incolumn o c3) (incolumn g c2) (incolumn p c4) (incolumn b c1) (incolumn y c2)
    (clear o) (clear g) (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o g)
    (on p o)
    (on y r)
    (clear p)
    (clear b)
    (clear y)
    (incolumn r c2)
    (incolumn o c1)
    (incolumn g c1)
    (incolumn p c1)
    (incolumn b c3)
    (incolumn y c2))))
