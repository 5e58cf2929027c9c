(define (problem problem_06)
  (:domain blocksworld)
  (:objects
    r p y b o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o y)
    (incolumn r c5) (incolumn p c1) (incolumn y c4) (incolumn b c2) (incolumn o c4)
    (clear r) (clear p) (clear b) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on p y)
    (clear r)
    (clear p)
    (clear b)
    (clear o)
    (incolumn r c2)
    (incolumn p c5)
    (incolumn y c5)
    (incolumn b c4)
    (incolumn o c1))))
