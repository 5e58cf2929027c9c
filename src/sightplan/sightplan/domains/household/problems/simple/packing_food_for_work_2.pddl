(define (problem packing_food_for_work_2)
  (:domain household)
  (:objects
    snack_food_1 - movable
    cabinet_1 carton_1 - container)
  (:init
    (open carton_1)
    (inside snack_food_1 cabinet_1))
  (:goal (and
    (inside snack_food_1 carton_1))))
