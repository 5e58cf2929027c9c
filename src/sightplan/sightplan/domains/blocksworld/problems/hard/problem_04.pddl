(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    y g b p o r - block
    c1 c2 c3 c4 - column)
  (:init
    (on g b) (on b o) (on o y)
    (incolumn y c2) (incolumn g c2) (incolumn b c2) (incolumn p c4) (incolumn o c2) (incolumn r c1)
    (clear g) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g b)
    (on r o)
    (clear y)
    (clear g)
    (clear p)
    (clear r)
    (incolumn y c2)
    (incolumn g c1)
    (incolumn b c1)
    (incolumn p c3)
    (incolumn o c4)
    (incolumn r c4))))
