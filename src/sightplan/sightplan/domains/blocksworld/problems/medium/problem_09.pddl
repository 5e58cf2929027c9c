(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    o b y r p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y p) (on r o)
    (incolumn o c2) (incolumn b c4) (incolumn y c3) (incolumn r c2) (incolumn p c3)
    (clear b) (clear y) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o y)
    (on y p)
    (on p b)
    (clear o)
    (clear r)
    (incolumn o c5)
    (incolumn b c5)
    (incolumn y c5)
    (incolumn r c3)
    (incolumn p c5))))
