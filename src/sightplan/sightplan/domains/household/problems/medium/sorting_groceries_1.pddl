(define (problem sorting_groceries_1)
  (:domain household)
  (:objects
    apple_1 apple_2 orange_1 - movable
    fridge_1 - container
    table_1 - object)
  (:init)
  (:goal (and
    (inside apple_1 fridge_1)
    (ontop orange_1 table_1))))
