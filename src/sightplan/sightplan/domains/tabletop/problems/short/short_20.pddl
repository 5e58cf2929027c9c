(define (problem short_20)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 box_1 box_2 mug_1 box_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on box_1 table) (on box_2 table) (on mug_1 table) (on box_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_1 drawer_1)
    (open drawer_1))))
