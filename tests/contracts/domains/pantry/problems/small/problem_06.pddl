(define (problem problem_06)
  (:domain pantry)
  (:objects
    bread jam cup - item
    low - drawer
    left - cupboard
    high - drawer)
  (:init
    (at bread high) (at jam left) (at cup left)
    (handempty))
  (:goal (and
    (at bread high)
    (at jam table)
    (at cup low)
    (not (isopen low))
    (not (isopen left))
    (not (isopen high)))))
