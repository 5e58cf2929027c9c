(define (problem problem_12)
  (:domain blocksworld)
  (:objects
    p b r - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p)
    (incolumn p c4) (incolumn b c3) (incolumn r c4)
    (clear b) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b r)
    (clear p)
    (clear b)
    (incolumn p c1)
    (incolumn b c2)
    (incolumn r c2))))
