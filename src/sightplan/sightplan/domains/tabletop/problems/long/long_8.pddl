(define (problem long_8)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 cup_3 cup_4 - thing
    tray_1 - surface
    apple_1 apple_2 apple_3 - thing
    plate_1 - surface
    can_1 can_2 - thing)
  (:init
    (on cup_1 table) (on cup_2 table) (on cup_3 table) (on cup_4 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on can_1 table) (on can_2 table)
    (handempty))
  (:goal (and
    (on cup_1 tray_1)
    (on cup_2 tray_1)
    (on cup_3 tray_1)
    (on cup_4 tray_1)
    (on apple_2 plate_1)
    (on apple_3 plate_1))))
