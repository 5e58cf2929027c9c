(define (problem long_12)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 - thing
    plate_1 - surface
    napkin_1 banana_1 - thing
    tray_1 - surface
    ball_1 screwdriver_1 screwdriver_2 screwdriver_3 ball_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on cup_1 table) (on cup_2 table) (on napkin_1 table) (on banana_1 table) (on ball_1 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on ball_2 table)
    (open drawer_2)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on cup_1 plate_1)
    (on cup_2 plate_1)
    (on napkin_1 tray_1)
    (on banana_1 tray_1)
    (in ball_1 drawer_2)
    (in screwdriver_1 drawer_1)
    (not (open drawer_2))
    (open drawer_1))))
