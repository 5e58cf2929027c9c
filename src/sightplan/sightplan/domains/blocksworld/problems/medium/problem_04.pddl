(define (problem problem_04)
  (:domain blocksworld)
  (:objects
    y b g p r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on y r) (on p b)
    (incolumn y c2) (incolumn b c3) (incolumn g c5) (incolumn p c3) (incolumn r c2)
    (clear y) (clear g) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on y g)
    (clear y)
    (clear b)
    (clear p)
    (clear r)
    (incolumn y c2)
    (incolumn b c5)
    (incolumn g c2)
    (incolumn p c4)
    (incolumn r c3))))
