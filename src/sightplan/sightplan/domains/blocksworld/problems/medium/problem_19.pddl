(define (problem problem_19)
  (:domain blocksworld)
  (:objects
    o y b p r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y o)
    (incolumn o c3) (incolumn y c3) (incolumn b c2) (incolumn p c1) (incolumn r c4)
    (clear y) (clear b) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on y p)
    (on b r)
    (clear o)
    (clear y)
    (clear b)
    (incolumn o c5)
    (incolumn y c2)
    (incolumn b c3)
    (incolumn p c2)
    (incolumn r c3))))
