(define (problem problem_24)
  (:domain blocksworld)
  (:objects
    g p r - block
    c1 c2 c3 c4 - column)
  (:init
    (incolumn g c3) (incolumn p c2) (incolumn r c4)
    (clear g) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (clear g)
    (clear r)
    (incolumn g c1)
    (incolumn p c4)
    (incolumn r c4))))
