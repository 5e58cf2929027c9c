(define (problem long_5)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 - thing
    bowl_1 - container
    can_1 can_2 can_3 can_4 can_5 - thing
    tray_1 - surface
    screwdriver_1 screwdriver_2 screwdriver_3 screwdriver_4 - thing
    tray_2 - surface
    spoon_1 - thing)
  (:init
    (on apple_1 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on spoon_1 table)
    (handempty))
  (:goal (and
    (in apple_1 bowl_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (on can_5 tray_1)
    (on screwdriver_1 tray_2)
    (on screwdriver_2 tray_2)
    (on screwdriver_3 tray_2))))
