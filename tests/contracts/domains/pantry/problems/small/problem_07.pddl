(define (problem problem_07)
  (:domain pantry)
  (:objects
    bread jam apple - item
    low high - drawer
    left - cupboard)
  (:init
    (at bread low) (at jam low) (at apple high)
    (handempty))
  (:goal (and
    (at bread high)
    (at jam table)
    (at apple table)
    (not (isopen high))
    (not (isopen left)))))
