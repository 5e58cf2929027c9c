(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    g b o - block
    c1 c2 c3 c4 - column)
  (:init
    (on b g)
    (incolumn g c2) (incolumn b c2) (incolumn o c3)
    (clear b) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o g)
    (clear b)
    (clear o)
    (incolumn g c3)
    (incolumn b c2)
    (incolumn o c3))))
