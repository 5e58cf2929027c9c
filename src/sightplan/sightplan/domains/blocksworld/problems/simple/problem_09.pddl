(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    p g b - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn p c2) (incolumn g c1) (incolumn b c4)
    (clear p) (clear g) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on g b)
    (clear p)
    (clear g)
    (incolumn p c4)
    (incolumn g c3)
    (incolumn b c3))))
