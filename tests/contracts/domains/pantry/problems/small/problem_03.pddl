(define (problem problem_03)
  (:domain pantry)
  (:objects
    apple cup - item
    low - drawer
    right - cupboard)
  (:init
    (at apple right) (at cup low)
    (handempty))
  (:goal (and
    (at apple low)
    (at cup low)
    (not (isopen right)))))
