(define (problem long_24)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 box_5 - thing
    tray_1 - surface
    ball_1 ball_2 banana_1 - thing
    tray_2 - surface
    box_6 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table) (on ball_1 table) (on ball_2 table) (on banana_1 table) (on box_6 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on box_4 tray_1)
    (on box_5 tray_1)
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (on banana_1 tray_2)
    (not (open drawer_1)))))
