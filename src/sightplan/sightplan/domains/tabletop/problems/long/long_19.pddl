(define (problem long_19)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 screwdriver_3 screwdriver_4 screwdriver_5 ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on screwdriver_5 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in screwdriver_2 drawer_1)
    (in screwdriver_3 drawer_1)
    (in screwdriver_4 drawer_1)
    (in screwdriver_5 drawer_1)
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (in ball_3 drawer_2)
    (in ball_4 drawer_2)
    (not (open drawer_1))
    (not (open drawer_2)))))
