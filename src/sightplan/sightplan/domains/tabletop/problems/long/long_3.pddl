(define (problem long_3)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 banana_3 ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    crate_1 - container
    cup_1 cup_2 - thing
    plate_1 - surface
    cup_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on banana_3 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on cup_1 table) (on cup_2 table) (on cup_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_2 drawer_2)
    (in banana_3 drawer_2)
    (in ball_1 crate_1)
    (in ball_2 crate_1)
    (in ball_3 crate_1)
    (in ball_4 crate_1)
    (in ball_5 crate_1)
    (on cup_2 plate_1)
    (not (open drawer_2)))))
