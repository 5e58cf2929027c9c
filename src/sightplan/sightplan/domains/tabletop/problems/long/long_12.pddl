(define (problem long_12)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 can_5 - thing
    tray_1 - surface
    box_1 box_2 box_3 box_4 box_5 - thing
    tray_2 - surface
    box_6 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table) (on box_6 table)
    (handempty))
  (:goal (and
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (on can_5 tray_1)
    (on box_2 tray_2)
    (on box_3 tray_2)
    (on box_4 tray_2)
    (on box_5 tray_2))))
