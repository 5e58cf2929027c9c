(define (problem packing_food_for_work_3)
  (:domain household)
  (:objects
    sandwich_1 snack_food_1 - movable
    fridge_1 cabinet_1 carton_1 - container)
  (:init
    (open carton_1)
    (inside sandwich_1 fridge_1) (inside snack_food_1 cabinet_1))
  (:goal (and
    (inside sandwich_1 carton_1)
    (inside snack_food_1 carton_1))))
