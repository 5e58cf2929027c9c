(define (problem problem_00)
  (:domain blocksworld)
  (:objects
    g p b y r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g b) (on r y)
    (incolumn g c3) (incolumn p c1) (incolumn b c3) (incolumn y c5) (incolumn r c5)
    (clear g) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on g p)
    (clear g)
    (clear b)
    (clear y)
    (clear r)
    (incolumn g c1)
    (incolumn p c1)
    (incolumn b c5)
    (incolumn y c3)
    (incolumn r c2))))
