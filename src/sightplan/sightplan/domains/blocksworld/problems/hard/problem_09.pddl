(define (problem problem_09)
  (:domain blocksworld)
  (:objects
    b g p o r y - block
    c1 c2 c3 c4 - column)
  (:init
    (on b y) (on p g)
    (incolumn b c1) (incolumn g c2) (incolumn p c2) (incolumn o c4) (incolumn r c3) (incolumn y c1)
    (clear b) (clear p) (clear o) (clear r)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on p o)
    (on y r)
    (clear b)
    (clear g)
    (clear p)
    (clear y)
    (incolumn b c3)
    (incolumn g c1)
    (incolumn p c4)
    (incolumn o c4)
    (incolumn r c2)
    (incolumn y c2))))
