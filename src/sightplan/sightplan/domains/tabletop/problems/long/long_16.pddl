(define (problem long_16)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 knife_1 knife_2 knife_3 knife_4 - thing
    tray_1 - surface
    knife_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on knife_1 table) (on knife_2 table) (on knife_3 table) (on knife_4 table) (on knife_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (in ball_4 drawer_2)
    (on knife_1 tray_1)
    (on knife_2 tray_1)
    (on knife_3 tray_1)
    (open drawer_2))))
