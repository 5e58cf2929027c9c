(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    o r g - block
    c1 c2 c3 c4 - column)
  (:init
    (on r g)
    (incolumn o c2) (incolumn r c4) (incolumn g c4)
    (clear o) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear o)
    (clear r)
    (clear g)
    (incolumn o c1)
    (incolumn r c3)
    (incolumn g c2))))
