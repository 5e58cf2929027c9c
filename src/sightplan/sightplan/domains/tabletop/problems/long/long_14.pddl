(define (problem long_14)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    screwdriver_1 screwdriver_2 screwdriver_3 - thing
    plate_1 - surface
    screwdriver_4 screwdriver_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on screwdriver_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (in screwdriver_1 drawer_1)
    (in screwdriver_2 drawer_1)
    (not (open drawer_1)))))
