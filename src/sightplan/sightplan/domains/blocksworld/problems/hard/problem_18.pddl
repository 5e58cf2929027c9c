(define (problem problem_18)
  (:domain blocksworld)
  (:objects
    y p g b o r - block
    c1 c2 c3 c4 - column)
  (:init
    (on g y) (on b o)
    (incolumn y c2) (incolumn p c3) (incolumn g c2) (incolumn b c1) (incolumn o c1) (incolumn r c4)
    (clear p) (clear g) (clear b) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on o p)
    (on r y)
    (clear g)
    (clear b)
    (clear o)
    (clear r)
    (incolumn y c2)
    (incolumn p c1)
    (incolumn g c3)
    (incolumn b c4)
    (incolumn o c1)
    (incolumn r c2))))
