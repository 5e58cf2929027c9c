(define (problem problem_01)
  (:domain pantry)
  (:objects
    apple cup - item
    right - cupboard
    high - drawer)
  (:init
    (at apple high) (at cup right)
    (handempty))
  (:goal (and
    (at apple table)
    (at cup high)
    (not (isopen high)))))
