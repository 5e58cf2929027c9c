(define (problem long_3)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 - thing
    crate_1 - container
    ball_1 ball_2 ball_3 ball_4 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in can_1 crate_1)
    (in can_2 crate_1)
    (in can_3 crate_1)
    (in can_4 crate_1)
    (in ball_2 drawer_2)
    (not (open drawer_2)))))
