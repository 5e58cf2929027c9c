(define (problem long_20)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 - thing
    tray_1 - surface
    ball_1 ball_2 - thing
    plate_1 - surface
    napkin_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on ball_1 table) (on ball_2 table) (on napkin_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on box_3 tray_1)
    (on box_4 tray_1)
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (not (open drawer_2)))))
