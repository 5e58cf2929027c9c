(define (problem problem_11)
  (:domain blocksworld)
  (:objects
    o b p r g - block
    c1 c2 c3 c4 c5 - column)
  (:init
    (on b o) (on g b)
    (incolumn o c3) (incolumn b c3) (incolumn p c2) (incolumn r c4) (incolumn g c3)
    (clear p) (clear r) (clear g)
    (leftof c1 c2) (leftof c1 c3) (leftof c1 c4) (leftof c1 c5) (leftof c2 c3) (leftof c2 c4) (leftof c2 c5) (leftof c3 c4) (leftof c3 c5) (leftof c4 c5)
    (rightof c2 c1) (rightof c3 c1) (rightof c3 c2) (rightof c4 c1) (rightof c4 c2) (rightof c4 c3) (rightof c5 c1) (rightof c5 c2) (rightof c5 c3) (rightof c5 c4))
  (:goal (and
    (on b o)
    (on p r)
    (clear b)
    (clear p)
    (clear g)
    (incolumn o c4)
    (incolumn b c4)
    (incolumn p c2)
    (incolumn r c2)
    (incolumn g c1))))
