(define (problem long_2)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 can_5 can_6 - thing
    tray_1 - surface
    ball_1 ball_2 bottle_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on can_6 table) (on ball_1 table) (on ball_2 table) (on bottle_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (on can_5 tray_1)
    (on can_6 tray_1)
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (not (open drawer_2)))))
