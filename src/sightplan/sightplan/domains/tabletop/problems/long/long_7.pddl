(define (problem long_7)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 screwdriver_1 screwdriver_2 can_1 - thing
    plate_1 - surface
    cup_1 cup_2 - thing
    plate_2 - surface
    can_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on screwdriver_1 table) (on screwdriver_2 table) (on can_1 table) (on cup_1 table) (on cup_2 table) (on can_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (in screwdriver_1 drawer_2)
    (in screwdriver_2 drawer_2)
    (on can_1 plate_1)
    (on cup_2 plate_2)
    (not (open drawer_1))
    (not (open drawer_2)))))
