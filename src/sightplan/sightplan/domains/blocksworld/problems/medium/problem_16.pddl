(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    g r b p y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (incolumn g c5) (incolumn r c1) (incolumn b c3) (incolumn p c2) (incolumn y c4)
    (clear g) (clear r) (clear b) (clear p) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p g)
    (on y b)
    (clear r)
    (clear p)
    (clear y)
    (incolumn g c4)
    (incolumn r c1)
    (incolumn b c5)
    (incolumn p c4)
    (incolumn y c5))))
