(define (problem problem_08)
  (:domain blocksworld)
  (:objects
    b y p r g - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b y) (on p g)
    (incolumn b c3) (incolumn y c3) (incolumn p c1) (incolumn r c4) (incolumn g c1)
    (clear b) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r p)
    (clear b)
    (clear y)
    (clear r)
    (clear g)
    (incolumn b c1)
    (incolumn y c2)
    (incolumn p c5)
    (incolumn r c5)
    (incolumn g c4))))
