(define (problem problem_16)
  (:domain blocksworld)
  (:objects
    p r b - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p)
    (incolumn p c1) (incolumn r c1) (incolumn b c4)
    (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (clear r)
    (clear b)
    (incolumn p c2)
    (incolumn r c2)
    (incolumn b c1))))
