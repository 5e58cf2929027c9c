(define (problem problem_08)
  (:domain blocksworld)
  (:objects
    g b p - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn g c3) (incolumn b c4) (incolumn p c1)
    (clear g) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b p)
    (clear g)
    (clear b)
    (incolumn g c3)
    (incolumn b c4)
    (incolumn p c4))))
