(define (problem long_16)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 - thing
    tray_1 - surface
    apple_1 apple_2 apple_3 apple_4 apple_5 - thing
    tray_2 - surface
    box_1 screwdriver_3 - thing)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table) (on box_1 table) (on screwdriver_3 table)
    (handempty))
  (:goal (and
    (on screwdriver_1 tray_1)
    (on screwdriver_2 tray_1)
    (on apple_2 tray_2)
    (on apple_3 tray_2)
    (on apple_4 tray_2)
    (on apple_5 tray_2))))
