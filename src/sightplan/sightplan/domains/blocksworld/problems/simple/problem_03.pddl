(define (problem problem_03)
  (:domain blocksworld)
  (:objects
    r p o - block
    c1 c2 c3 c4 - column)
  (:init
    (on r o)
    (incolumn r c1) (incolumn p c3) (incolumn o c1)
    (clear r) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o p)
    (clear r)
    (clear o)
    (incolumn r c1)
    (incolumn p c2)
    (incolumn o c2))))
