(define (problem medium_5)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    box_1 box_2 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on box_1 table) (on box_2 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1))))
