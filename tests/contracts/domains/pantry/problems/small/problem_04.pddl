(define (problem problem_04)
  (:domain pantry)
  (:objects
    cup jam bread - item
    low high - drawer
    right - cupboard)
  (:init
    (at cup right) (at jam low) (at bread high)
    (handempty))
  (:goal (and
    (at cup low)
    (at jam low)
    (at bread right)
    (not (isopen low))
    (not (isopen right)))))
