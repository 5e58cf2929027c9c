(define (problem long_21)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 cup_1 cup_2 cup_3 - thing
    tray_1 - surface
    napkin_1 napkin_2 screwdriver_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on cup_1 table) (on cup_2 table) (on cup_3 table) (on napkin_1 table) (on napkin_2 table) (on screwdriver_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (in ball_3 drawer_1)
    (in ball_4 drawer_1)
    (on cup_1 tray_1)
    (on cup_3 tray_1)
    (in napkin_1 drawer_2)
    (in napkin_2 drawer_2)
    (not (open drawer_1))
    (not (open drawer_2)))))
