(define (problem long_19)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 bottle_1 bottle_2 bottle_3 bottle_4 - thing
    tray_1 - surface
    ball_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on ball_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (on bottle_2 tray_1)
    (on bottle_3 tray_1)
    (on bottle_4 tray_1)
    (not (open drawer_1)))))
