(define (problem problem_11)
  (:domain blocksworld)
  (:objects
    p g o r y b - block
    c1 c2 c3 c4 - column)
  (:init
    (on p y) (on o r) (on y g)
    (incolumn p c4) (incolumn g c4) (incolumn o c3) (incolumn r c3) (incolumn y c4) (incolumn b c2)
    (clear p) (clear o) (clear b)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c2 c3) (leftof c2 c4) (leftof c3 c4)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3))
  (:goal (and
    (on r p)
    (on b o)
    (clear g)
    (clear r)
    (clear y)
    (clear b)
    (incolumn p c4)
    (incolumn g c2)
    (incolumn o c1)
    (incolumn r c4)
    (incolumn y c3)
    (incolumn b c1))))
