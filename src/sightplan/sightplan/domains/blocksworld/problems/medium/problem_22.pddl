(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    b g r p o - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on p o)
    (incolumn b c4) (incolumn g c5) (incolumn r c1) (incolumn p c2) (incolumn o c2)
    (clear b) (clear g) (clear r) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on o p)
    (clear b)
    (clear g)
    (clear r)
    (clear o)
    (incolumn b c5)
    (incolumn g c4)
    (incolumn r c3)
    (incolumn p c1)
    (incolumn o c1))))
