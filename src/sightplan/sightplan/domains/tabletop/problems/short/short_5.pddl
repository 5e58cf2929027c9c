(define (problem short_5)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 bottle_1 bottle_2 cup_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on cup_1 table) (on cup_2 table) (on bottle_1 table) (on bottle_2 table) (on cup_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (open drawer_1))))
