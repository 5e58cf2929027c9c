(define (problem long_18)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    bottle_1 bottle_2 bottle_3 bottle_4 - thing
    tray_1 plate_1 - surface
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (on bottle_1 tray_1)
    (on bottle_2 tray_1)
    (on bottle_3 tray_1)
    (on bottle_4 tray_1))))
