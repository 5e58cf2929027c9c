(define (problem problem_15)
  (:domain blocksworld)
  (:objects
    p o r - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn p c3) (incolumn o c4) (incolumn r c2)
    (clear p) (clear o) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o r)
    (clear p)
    (clear o)
    (incolumn p c2)
    (incolumn o c4)
    (incolumn r c4))))
