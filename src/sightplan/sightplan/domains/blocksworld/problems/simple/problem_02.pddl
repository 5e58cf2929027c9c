(define (problem problem_02)
  (:domain blocksworld)
  (:objects
    r p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on o p)
    (incolumn r c1) (incolumn p c4) (incolumn o c4)
    (clear r) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o p)
    (clear r)
    (clear o)
    (incolumn r c3)
    (incolumn p c1)
    (incolumn o c1))))
