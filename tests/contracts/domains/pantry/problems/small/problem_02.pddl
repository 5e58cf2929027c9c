(define (problem problem_02)
  (:domain pantry)
  (:objects
    cup jam - item
    high - drawer
    right - cupboard)
  (:init
    (at cup table) (at jam high)
    (handempty))
  (:goal (and
    (at cup high)
    (at jam table)
    (not (isopen right)))))
