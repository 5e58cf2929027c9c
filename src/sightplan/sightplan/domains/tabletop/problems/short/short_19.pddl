(define (problem short_19)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 mug_1 knife_1 mug_2 napkin_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on mug_1 table) (on knife_1 table) (on mug_2 table) (on napkin_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_2 drawer_1)
    (not (open drawer_1)))))
