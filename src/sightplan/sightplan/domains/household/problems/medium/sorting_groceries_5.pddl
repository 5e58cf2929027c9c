(define (problem sorting_groceries_5)
  (:domain household)
  (:objects
    apple_1 apple_2 orange_1 - movable
    fridge_1 - container
    table_1 - object)
  (:init
    (ontop apple_1 table_1) (ontop apple_2 table_1))
  (:goal (and
    (inside apple_1 fridge_1)
    (ontop orange_1 table_1))))
