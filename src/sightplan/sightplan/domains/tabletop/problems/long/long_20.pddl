(define (problem long_20)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    bottle_1 bottle_2 bottle_3 bottle_4 bottle_5 - thing
    tray_2 - surface
    bottle_6 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on bottle_5 table) (on bottle_6 table)
    (handempty))
  (:goal (and
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (on bottle_1 tray_2)
    (on bottle_2 tray_2)
    (on bottle_3 tray_2)
    (on bottle_4 tray_2)
    (on bottle_5 tray_2))))
