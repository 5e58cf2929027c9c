(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    o p r b g - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o p) (on r g)
    (incolumn o c1) (incolumn p c1) (incolumn r c2) (incolumn b c3) (incolumn g c2)
    (clear o) (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b p)
    (clear o)
    (clear r)
    (clear b)
    (clear g)
    (incolumn o c5)
    (incolumn p c3)
    (incolumn r c1)
    (incolumn b c3)
    (incolumn g c2))))
