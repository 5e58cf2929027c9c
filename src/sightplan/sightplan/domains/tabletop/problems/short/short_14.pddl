(define (problem short_14)
  (:domain tabletop)
  (:objects
    table - surface
    crate_1 - container
    spoon_1 spoon_2 spoon_3 cup_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on spoon_1 table) (on spoon_2 table) (on spoon_3 table) (on cup_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (open drawer_1))))
