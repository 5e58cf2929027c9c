(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    y g r b p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y b) (on p y)
    (incolumn y c1) (incolumn g c5) (incolumn r c2) (incolumn b c1) (incolumn p c1)
    (clear g) (clear r) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on y p)
    (on r y)
    (on b g)
    (clear r)
    (clear b)
    (incolumn y c4)
    (incolumn g c2)
    (incolumn r c4)
    (incolumn b c2)
    (incolumn p c4))))
