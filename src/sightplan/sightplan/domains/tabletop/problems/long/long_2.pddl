(define (problem long_2)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 apple_4 apple_5 apple_6 - thing
    tray_1 - surface
    screwdriver_1 screwdriver_2 can_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table) (on apple_6 table) (on screwdriver_1 table) (on screwdriver_2 table) (on can_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on apple_2 tray_1)
    (on apple_3 tray_1)
    (on apple_4 tray_1)
    (on apple_5 tray_1)
    (on apple_6 tray_1)
    (in screwdriver_1 drawer_2)
    (in screwdriver_2 drawer_2)
    (not (open drawer_2)))))
