(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    r b o y p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o b)
    (incolumn r c2) (incolumn b c4) (incolumn o c4) (incolumn y c5) (incolumn p c3)
    (clear r) (clear o) (clear y) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o r)
    (on y b)
    (clear o)
    (clear y)
    (clear p)
    (incolumn r c3)
    (incolumn b c4)
    (incolumn o c3)
    (incolumn y c4)
    (incolumn p c5))))
