(define (problem problem_05)
  (:domain pantry)
  (:objects
    jam bread cup - item
    right - cupboard
    high low - drawer)
  (:init
    (at jam right) (at bread right) (at cup low)
    (handempty))
  (:goal (and
    (at jam right)
    (at bread table)
    (at cup low)
    (not (isopen high))
    (not (isopen low)))))
