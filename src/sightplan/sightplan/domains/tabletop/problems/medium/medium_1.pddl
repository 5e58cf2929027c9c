(define (problem medium_1)
  (:domain tabletop)
  (:objects
    table - surface
    bottle_1 bottle_2 bottle_3 bottle_4 bottle_5 - thing
    tray_1 - surface
    hammer_1 hammer_2 bottle_6 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on bottle_5 table) (on hammer_1 table) (on hammer_2 table) (on bottle_6 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on bottle_1 tray_1)
    (on bottle_2 tray_1)
    (on bottle_3 tray_1)
    (on bottle_5 tray_1))))
