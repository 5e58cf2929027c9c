(define (problem long_0)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 banana_3 - thing
    crate_1 - container
    ball_1 ball_2 ball_3 ball_4 - thing
    plate_1 - surface
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on banana_3 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table)
    (open drawer_1)
    (clear drawer_1)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_1 crate_1)
    (in banana_3 crate_1)
    (in ball_2 drawer_1)
    (in ball_3 drawer_1)
    (not (open drawer_1)))))
