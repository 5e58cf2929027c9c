(define (problem problem_20)
  (:domain blocksworld)
  (:objects
    b p g o r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r o)
    (incolumn b c3) (incolumn p c4) (incolumn g c5) (incolumn o c1) (incolumn r c1)
    (clear b) (clear p) (clear g) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on r o)
    (clear b)
    (clear p)
    (clear g)
    (clear r)
    (incolumn b c4)
    (incolumn p c2)
    (incolumn g c5)
    (incolumn o c3)
    (incolumn r c3))))
