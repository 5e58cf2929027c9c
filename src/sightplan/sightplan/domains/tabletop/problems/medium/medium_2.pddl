(define (problem medium_2)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 - thing
    tray_1 - surface
    box_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on box_3 tray_1))))
