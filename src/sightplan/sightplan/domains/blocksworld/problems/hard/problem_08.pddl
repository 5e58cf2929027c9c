(define (problem problem_08)
  (:domain blocksworld)
  (:objects
    b g p r y o - block
    c1 c2 c3 c4 - column)
  (:init
    (on g y) (on y b)
    (incolumn b c4) (incolumn g c4) (incolumn p c1) (incolumn r c2) (incolumn y c4) (incolumn o c3)
    (clear g) (clear p) (clear r) (clear o)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on b o)
    (on p r)
    (on y g)
    (clear b)
    (clear p)
    (clear y)
    (incolumn b c2)
    (incolumn g c1)
    (incolumn p c4)
    (incolumn r c4)
    (incolumn y c1)
    (incolumn o c2))))
