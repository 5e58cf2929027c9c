(define (problem long_22)
  (:domain tabletop)
  (:objects
    table - surface
    hammer_1 - thing
    crate_1 - container
    apple_1 apple_2 apple_3 apple_4 apple_5 apple_6 - thing
    tray_1 - surface
    cup_1 cup_2 cup_3 cup_4 - thing
    tray_2 - surface)
  (:init
    (on hammer_1 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table) (on apple_6 table) (on cup_1 table) (on cup_2 table) (on cup_3 table) (on cup_4 table)
    (handempty))
  (:goal (and
    (in hammer_1 crate_1)
    (on apple_2 tray_1)
    (on apple_3 tray_1)
    (on apple_4 tray_1)
    (on apple_5 tray_1)
    (on apple_6 tray_1)
    (on cup_2 tray_2)
    (on cup_3 tray_2)
    (on cup_4 tray_2))))
