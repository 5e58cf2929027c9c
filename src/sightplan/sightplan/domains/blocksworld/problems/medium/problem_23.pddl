(define (problem problem_23)
  (:domain blocksworld)
  (:objects
    g o r b y - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b y) (on y o)
    (incolumn g c5) (incolumn o c1) (incolumn r c3) (incolumn b c1) (incolumn y c1)
    (clear g) (clear r) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b o)
    (clear g)
    (clear r)
    (clear b)
    (clear y)
    (incolumn g c5)
    (incolumn o c4)
    (incolumn r c2)
    (incolumn b c4)
    (incolumn y c1))))
