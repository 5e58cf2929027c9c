(define (problem problem_06)
  (:domain blocksworld)
  (:objects
    y o g b p r - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y) (on p o) (on r g)
    (incolumn y c4) (incolumn o c2) (incolumn g c3) (incolumn b c4) (incolumn p c2) (incolumn r c3)
    (clear b) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g o)
    (on b r)
    (on p y)
    (clear g)
    (clear b)
    (clear p)
    (incolumn y c1)
    (incolumn o c2)
    (incolumn g c2)
    (incolumn b c3)
    (incolumn p c1)
    (incolumn r c3))))
