(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    b g y p r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b y)
    (incolumn b c2) (incolumn g c4) (incolumn y c2) (incolumn p c1) (incolumn r c3)
    (clear b) (clear g) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g y)
    (clear b)
    (clear g)
    (clear p)
    (clear r)
    (incolumn b c3)
    (incolumn g c4)
    (incolumn y c4)
    (incolumn p c1)
    (incolumn r c5))))
