(define (problem problem_10)
  (:domain blocksworld)
  (:objects
    o r g - block
    c1 c2 c3 c4 - column)
  (:init
    (on g r)
    (incolumn o c3) (incolumn r c2) (incolumn g c2)
    (clear o) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o r)
    (clear o)
    (clear g)
    (incolumn o c1)
    (incolumn r c1)
    (incolumn g c2))))
