(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    p r g - block
    c1 c2 c3 c4 - column)
  (:init
    (on p r)
    (incolumn p c4) (incolumn r c4) (incolumn g c2)
    (clear p) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (clear p)
    (clear r)
    (clear g)
    (incolumn p c3)
    (incolumn r c2)
    (incolumn g c1))))
