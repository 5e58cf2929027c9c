(define (problem problem_07)
  (:domain blocksworld)
  (:objects
    g y b r o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g r) (on o g)
    (incolumn g c5) (incolumn y c4) (incolumn b c1) (incolumn r c5) (incolumn o c5)
    (clear y) (clear b) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b y)
    (clear g)
    (clear b)
    (clear r)
    (clear o)
    (incolumn g c4)
    (incolumn y c1)
    (incolumn b c1)
    (incolumn r c5)
    (incolumn o c3))))
