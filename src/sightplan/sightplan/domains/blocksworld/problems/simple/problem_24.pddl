(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    b o g - block
    c1 c2 c3 c4 - column)
  (:init
    (on g o)
    (incolumn b c2) (incolumn o c4) (incolumn g c4)
    (clear b) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear b)
    (clear o)
    (clear g)
    (incolumn b c3)
    (incolumn o c1)
    (incolumn g c4))))
