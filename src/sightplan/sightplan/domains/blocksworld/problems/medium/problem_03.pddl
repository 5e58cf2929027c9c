(define (problem problem_03)
  (:domain blocksworld)
  (:objects
    r y g o b - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on g o) (on b y)
    (incolumn r c2) (incolumn y c3) (incolumn g c1) (incolumn o c1) (incolumn b c3)
    (clear r) (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on y g)
    (on b o)
    (clear r)
    (clear y)
    (clear b)
    (incolumn r c5)
    (incolumn y c1)
    (incolumn g c1)
    (incolumn o c4)
    (incolumn b c4))))
