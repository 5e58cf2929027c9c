(define (problem long_5)
  (:domain tabletop)
  (:objects
    table - surface
    bottle_1 bottle_2 bottle_3 bottle_4 bottle_5 - thing
    tray_1 - surface
    napkin_1 napkin_2 napkin_3 napkin_4 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on bottle_5 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on napkin_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on bottle_1 tray_1)
    (on bottle_2 tray_1)
    (on bottle_3 tray_1)
    (on bottle_4 tray_1)
    (on bottle_5 tray_1)
    (in napkin_3 drawer_1)
    (open drawer_1))))
