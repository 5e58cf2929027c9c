(define (problem sorting_groceries_0)
  (:domain household)
  (:objects
    apple_1 apple_2 banana_1 lemon_1 orange_1 orange_2 snack_food_1 - movable
    cabinet_1 cabinet_2 cabinet_3 carton_1 drawers_1 drawers_2 fridge_1 - container)
  (:init
    (inside apple_1 cabinet_1) (inside apple_2 fridge_1) (inside banana_1 cabinet_3) (inside lemon_1 fridge_1) (inside orange_1 fridge_1) (inside orange_2 fridge_1) (inside snack_food_1 fridge_1))
  (:goal (and
    (inside apple_1 fridge_1)
    (inside apple_2 fridge_1)
    (inside banana_1 fridge_1)
    (inside lemon_1 fridge_1)
    (inside orange_1 fridge_1)
    (inside orange_2 fridge_1)
    (inside snack_food_1 fridge_1))))
