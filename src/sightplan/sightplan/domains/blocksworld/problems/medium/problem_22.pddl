(define (problem problem_22)
  (:domain blocksworld)
  (:objects
    g o b p r - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on r b)
    (incolumn g c3) (incolumn o c1) (incolumn b c5) (incolumn p c2) (incolumn r c5)
    (clear g) (clear o) (clear p) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b o)
    (on r p)
    (clear g)
    (clear b)
    (clear r)
    (incolumn g c2)
    (incolumn o c4)
    (incolumn b c4)
    (incolumn p c1)
    (incolumn r c1))))
