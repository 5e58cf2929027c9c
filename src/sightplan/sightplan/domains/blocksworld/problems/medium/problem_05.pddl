(define (problem problem_05)
  (:domain blocksworld)
  (:objects
    r b p o y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b r)
    (incolumn r c4) (incolumn b c4) (incolumn p c1) (incolumn o c5) (incolumn y c2)
    (clear b) (clear p) (clear o) (clear y)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p b)
    (clear r)
    (clear p)
    (clear o)
    (clear y)
    (incolumn r c5)
    (incolumn b c2)
    (incolumn p c2)
    (incolumn o c3)
    (incolumn y c1))))
