(define (problem problem_21)
  (:domain blocksworld)
  (:objects
    p r y - block
    c1 c2 c3 c4 - column)
  (:init
    (on p y)
    (incolumn p c4) (incolumn r c1) (incolumn y c4)
    (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on y p)
    (clear r)
    (clear y)
    (incolumn p c1)
    (incolumn r c3)
    (incolumn y c1))))
