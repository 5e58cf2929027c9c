(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    y g r b o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r b) (on b g)
    (incolumn y c4) (incolumn g c2) (incolumn r c2) (incolumn b c2) (incolumn o c1)
    (clear y) (clear r) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b o)
    (clear y)
    (clear g)
    (clear r)
    (clear b)
    (incolumn y c1)
    (incolumn g c5)
    (incolumn r c4)
    (incolumn b c3)
    (incolumn o c3))))
