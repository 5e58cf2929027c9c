(define (problem medium_10)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 mug_1 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 ball_4 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on screwdriver_1 table) (on mug_1 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on screwdriver_1 tray_1)
    (on mug_1 tray_1)
    (in ball_3 drawer_1)
    (not (open drawer_1)))))
