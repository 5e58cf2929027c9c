(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    g r y b p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on p y)
    (incolumn g c3) (incolumn r c4) (incolumn y c1) (incolumn b c2) (incolumn p c1)
    (clear g) (clear r) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r b)
    (clear g)
    (clear r)
    (clear y)
    (clear p)
    (incolumn g c5)
    (incolumn r c4)
    (incolumn y c3)
    (incolumn b c4)
    (incolumn p c1))))
