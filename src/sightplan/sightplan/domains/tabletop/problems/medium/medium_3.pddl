(define (problem medium_3)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 screwdriver_3 - thing
    tray_1 - surface
    screwdriver_4 screwdriver_5 screwdriver_6 screwdriver_7 - thing)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on screwdriver_5 table) (on screwdriver_6 table) (on screwdriver_7 table)
    (handempty))
  (:goal (and
    (on screwdriver_1 tray_1)
    (on screwdriver_2 tray_1)
    (on screwdriver_3 tray_1))))
