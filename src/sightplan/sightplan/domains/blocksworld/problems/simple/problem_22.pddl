(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    r o g - block
    c1 c2 c3 c4 - column)
  (:init
    (on r o)
    (incolumn r c4) (incolumn o c4) (incolumn g c3)
    (clear r) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r o)
    (clear r)
    (clear g)
    (incolumn r c3)
    (incolumn o c3)
    (incolumn g c1))))
