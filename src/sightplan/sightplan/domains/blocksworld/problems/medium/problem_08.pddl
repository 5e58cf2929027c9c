(define (problem problem_08)
  (:domain blocksworld)
  (:objects
    o b p g r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on o g) (on r b)
    (incolumn o c5) (incolumn b c3) (incolumn p c4) (incolumn g c5) (incolumn r c3)
    (clear o) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b r)
    (clear o)
    (clear b)
    (clear p)
    (clear g)
    (incolumn o c2)
    (incolumn b c1)
    (incolumn p c5)
    (incolumn g c4)
    (incolumn r c1))))
