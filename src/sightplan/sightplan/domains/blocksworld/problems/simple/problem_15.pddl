(define (problem problem_15)
  (:domain blocksworld)
  (:objects
    r b p - block
    c1 c2 c3 c4 - column)
  (:init
    (on r p)
    (incolumn r c2) (incolumn b c1) (incolumn p c2)
    (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b r)
    (clear b)
    (clear p)
    (incolumn r c3)
    (incolumn b c3)
    (incolumn p c1))))
