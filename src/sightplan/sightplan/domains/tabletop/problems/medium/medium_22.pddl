(define (problem medium_22)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 can_5 - thing
    tray_1 - surface
    cup_1 cup_2 can_6 can_7 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on cup_1 table) (on cup_2 table) (on can_6 table) (on can_7 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_5 tray_1))))
