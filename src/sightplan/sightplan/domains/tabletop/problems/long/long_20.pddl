(define (problem long_20)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 apple_4 - thing
    tray_1 - surface
    can_1 can_2 can_3 can_4 can_5 can_6 - thing
    tray_2 - surface
    bowl_1 - container)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on can_6 table)
    (handempty))
  (:goal (and
    (on apple_2 tray_1)
    (on apple_3 tray_1)
    (on apple_4 tray_1)
    (on can_2 tray_2)
    (on can_3 tray_2)
    (on can_4 tray_2)
    (on can_5 tray_2)
    (on can_6 tray_2))))
