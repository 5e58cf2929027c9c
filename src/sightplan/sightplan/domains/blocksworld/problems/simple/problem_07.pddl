(define (problem problem_07)
  (:domain blocksworld)
  (:objects
    b o g - block
    c1 c2 c3 c4 - column)
  (:init
    (on g b)
    (incolumn b c2) (incolumn o c3) (incolumn g c2)
    (clear o) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear b)
    (clear o)
    (clear g)
    (incolumn b c4)
    (incolumn o c2)
    (incolumn g c1))))
