(define (problem long_0)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 banana_1 banana_2 can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    ball_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on banana_1 table) (on banana_2 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on ball_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (in banana_1 drawer_2)
    (in banana_2 drawer_2)
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (not (open drawer_1))
    (not (open drawer_2)))))
