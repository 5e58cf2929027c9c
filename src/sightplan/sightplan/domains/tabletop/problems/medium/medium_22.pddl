(define (problem medium_22)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 cup_3 cup_4 - thing
    tray_1 - surface
    jar_1 - thing)
  (:init
    (on cup_1 table) (on cup_2 table) (on cup_3 table) (on cup_4 table) (on jar_1 table)
    (handempty))
  (:goal (and
    (on cup_1 tray_1)
    (on cup_2 tray_1)
    (on cup_3 tray_1)
    (on cup_4 tray_1))))
