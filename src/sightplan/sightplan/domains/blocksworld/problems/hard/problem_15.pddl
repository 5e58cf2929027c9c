(define (problem problem_15)
  (:domain blocksworld)
  (:objects
    o g y r b p - block
    c1 c2 c3 c4 - column)
  (:init
    (on o g) (on b r) (on p o)
    (incolumn o c2) (incolumn g c2) (incolumn y c1) (incolumn r c3) (incolumn b c3) (incolumn p c2)
    (clear y) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g p)
    (on r b)
    (clear o)
    (clear g)
    (clear y)
    (clear r)
    (incolumn o c2)
    (incolumn g c1)
    (incolumn y c3)
    (incolumn r c4)
    (incolumn b c4)
    (incolumn p c1))))
