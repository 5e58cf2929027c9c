(define (problem problem_17)
  (:domain blocksworld)
  (:objects
    g o r - block
    c1 c2 c3 c4 - column)
  (:init
    (on r o)
    (incolumn g c2) (incolumn o c3) (incolumn r c3)
    (clear g) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r g)
    (clear o)
    (clear r)
    (incolumn g c1)
    (incolumn o c2)
    (incolumn r c1))))
