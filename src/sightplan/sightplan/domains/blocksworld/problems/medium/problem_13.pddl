(define (problem problem_13)
  (:domain blocksworld)
  (:objects
    g r p b y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g y)
    (incolumn g c1) (incolumn r c2) (incolumn p c5) (incolumn b c4) (incolumn y c1)
    (clear g) (clear r) (clear p) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r y)
    (on p g)
    (clear r)
    (clear p)
    (clear b)
    (incolumn g c1)
    (incolumn r c3)
    (incolumn p c1)
    (incolumn b c4)
    (incolumn y c3))))
