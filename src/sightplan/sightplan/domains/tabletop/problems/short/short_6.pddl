(define (problem short_6)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 screwdriver_1 bottle_1 bottle_2 knife_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on screwdriver_1 table) (on bottle_1 table) (on bottle_2 table) (on knife_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_2 drawer_1)
    (open drawer_1))))
