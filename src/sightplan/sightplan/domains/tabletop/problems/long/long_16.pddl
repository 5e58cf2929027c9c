(define (problem long_16)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 - thing
    tray_1 - surface
    can_1 can_2 can_3 can_4 - thing
    tray_2 tray_3 - surface)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table)
    (handempty))
  (:goal (and
    (on screwdriver_1 tray_1)
    (on screwdriver_2 tray_1)
    (on can_1 tray_2)
    (on can_2 tray_2)
    (on can_3 tray_2)
    (on can_4 tray_2))))
