(define (problem short_10)
  (:domain tabletop)
  (:objects
    table - surface
    crate_1 - container
    can_1 can_2 screwdriver_1 bottle_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table) (on screwdriver_1 table) (on bottle_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (open drawer_2))))
