(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    o b r - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn o c3) (incolumn b c1) (incolumn r c2)
    (clear o) (clear b) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r b)
    (clear o)
    (clear r)
    (incolumn o c1)
    (incolumn b c4)
    (incolumn r c4))))
