(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    b y p r g - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (incolumn b c1) (incolumn y c2) (incolumn p c4) (incolumn r c3) (incolumn g c5)
    (clear b) (clear y) (clear p) (clear r) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g y)
    (clear b)
    (clear p)
    (clear r)
    (clear g)
    (incolumn b c3)
    (incolumn y c2)
    (incolumn p c1)
    (incolumn r c4)
    (incolumn g c2))))
