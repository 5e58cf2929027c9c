(define (problem problem_00)
  (:domain pantry)
  (:objects
    apple cup - item
    high - drawer
    left - cupboard)
  (:init
    (at apple high) (at cup left)
    (isopen left)
    (handempty))
  (:goal (and
    (at apple table)
    (at cup table)
    (not (isopen high)))))
