(define (problem medium_1)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 box_5 - thing
    tray_1 - surface
    box_6 box_7 - thing)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table) (on box_6 table) (on box_7 table)
    (handempty))
  (:goal (and
    (on box_1 tray_1)
    (on box_3 tray_1)
    (on box_4 tray_1)
    (on box_5 tray_1))))
