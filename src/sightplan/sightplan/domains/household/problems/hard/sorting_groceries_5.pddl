(define (problem sorting_groceries_5)
  (:domain household)
  (:objects
    apple_1 apple_2 orange_1 orange_2 - movable
    fridge_1 - container
    table_1 - object)
  (:init
    (ontop orange_1 table_1)
    (inside apple_2 fridge_1) (inside orange_2 fridge_1))
  (:goal (and
    (inside apple_1 fridge_1)
    (ontop orange_2 table_1)
    (nextto orange_1 orange_2))))
