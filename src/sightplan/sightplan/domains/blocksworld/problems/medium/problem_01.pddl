(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    g b r p y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g b) (on b y)
    (incolumn g c3) (incolumn b c3) (incolumn r c2) (incolumn p c5) (incolumn y c3)
    (clear g) (clear r) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b r)
    (on p g)
    (on y b)
    (clear p)
    (clear y)
    (incolumn g c2)
    (incolumn b c1)
    (incolumn r c1)
    (incolumn p c2)
    (incolumn y c1))))
