(define (problem problem_03)
  (:domain blocksworld)
  (:objects
    r g y b p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on y p) (on p o) (on o r)
    (incolumn r c1) (incolumn g c2) (incolumn y c1) (incolumn b c3) (incolumn p c1) (incolumn o c1)
    (clear g) (clear y) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r b)
    (on p o)
    (clear r)
    (clear g)
    (clear y)
    (clear p)
    (incolumn r c3)
    (incolumn g c1)
    (incolumn y c2)
    (incolumn b c3)
    (incolumn p c4)
    (incolumn o c4))))
