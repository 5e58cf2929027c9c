(define (problem long_11)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 box_5 - thing
    tray_1 - surface
    apple_1 apple_2 apple_3 apple_4 - thing
    tray_2 - surface
    spoon_1 - thing)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on spoon_1 table)
    (handempty))
  (:goal (and
    (on box_2 tray_1)
    (on box_3 tray_1)
    (on box_4 tray_1)
    (on box_5 tray_1)
    (on apple_1 tray_2)
    (on apple_2 tray_2)
    (on apple_3 tray_2)
    (on apple_4 tray_2))))
