(define (problem problem_01)
  (:domain blocksworld)
  (:objects
    g o b r p - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o r)
    (incolumn g c4) (incolumn o c5) (incolumn b c1) (incolumn r c5) (incolumn p c2)
    (clear g) (clear o) (clear b) (clear p)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r o)
    (clear g)
    (clear b)
    (clear r)
    (clear p)
    (incolumn g c5)
    (incolumn o c4)
    (incolumn b c1)
    (incolumn r c4)
    (incolumn p c3))))
