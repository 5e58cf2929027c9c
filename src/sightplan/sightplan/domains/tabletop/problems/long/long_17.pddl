(define (problem long_17)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 can_1 can_2 can_3 can_4 - thing
    crate_1 - container
    screwdriver_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on screwdriver_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_2)
    (in can_1 crate_1)
    (in can_2 crate_1)
    (in can_3 crate_1)
    (in can_4 crate_1)
    (not (open drawer_2)))))
