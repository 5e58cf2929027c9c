(define (problem problem_15)
  (:domain blocksworld)
  (:objects
    g p b y r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on p b) (on y p) (on r g)
    (incolumn g c3) (incolumn p c2) (incolumn b c2) (incolumn y c2) (incolumn r c3)
    (clear y) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p y)
    (on y b)
    (clear g)
    (clear p)
    (clear r)
    (incolumn g c3)
    (incolumn p c5)
    (incolumn b c5)
    (incolumn y c5)
    (incolumn r c4))))
