(define (problem problem_17)
  (:domain blocksworld)
  (:objects
    p r g y b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g y)
    (incolumn p c2) (incolumn r c4) (incolumn g c5) (incolumn y c5) (incolumn b c1)
    (clear p) (clear r) (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r p)
    (clear r)
    (clear g)
    (clear y)
    (clear b)
    (incolumn p c1)
    (incolumn r c1)
    (incolumn g c5)
    (incolumn y c3)
    (incolumn b c4))))
