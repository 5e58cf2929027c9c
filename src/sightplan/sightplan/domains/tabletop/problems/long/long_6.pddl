(define (problem long_6)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 ball_6 - thing
    crate_1 - container
    napkin_1 napkin_2 napkin_3 - thing
    plate_1 - surface
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on ball_6 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_2 crate_1)
    (in ball_3 crate_1)
    (in ball_4 crate_1)
    (in ball_5 crate_1)
    (in ball_6 crate_1)
    (in napkin_1 drawer_2)
    (in napkin_2 drawer_2)
    (not (open drawer_2)))))
