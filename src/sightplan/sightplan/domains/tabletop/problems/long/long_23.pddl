(define (problem long_23)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 cup_1 cup_2 - thing
    plate_1 - surface
    napkin_1 napkin_2 napkin_3 cup_3 ball_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on cup_1 table) (on cup_2 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on cup_3 table) (on ball_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (on cup_1 plate_1)
    (on cup_2 plate_1)
    (in napkin_2 drawer_2)
    (not (open drawer_1))
    (not (open drawer_2)))))
