(define (problem setting_the_table_4)
  (:domain household)
  (:objects
    bowl_1 cup_1 fork_1 mug_1 plate_1 plate_2 spoon_1 mug_2 plate_3 - movable
    cabinet_1 cabinet_2 drawers_1 fridge_1 - container
    counter_1 table_1 - object)
  (:init
    (ontop cup_1 table_1) (ontop plate_1 table_1) (ontop plate_2 table_1) (ontop spoon_1 table_1) (ontop mug_2 table_1)
    (inside fork_1 drawers_1) (inside mug_1 cabinet_2) (inside plate_3 cabinet_2))
  (:goal (and
    (ontop bowl_1 table_1)
    (ontop cup_1 table_1)
    (ontop fork_1 table_1)
    (ontop mug_1 table_1)
    (ontop plate_1 table_1)
    (ontop plate_2 table_1)
    (ontop spoon_1 table_1))))
