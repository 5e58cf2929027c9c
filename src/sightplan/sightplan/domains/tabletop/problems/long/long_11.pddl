(define (problem long_11)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 box_1 box_2 box_3 box_4 box_5 - thing
    tray_1 - surface
    ball_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table) (on ball_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_3 drawer_1)
    (in ball_4 drawer_1)
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on box_3 tray_1)
    (on box_4 tray_1)
    (on box_5 tray_1)
    (open drawer_1))))
