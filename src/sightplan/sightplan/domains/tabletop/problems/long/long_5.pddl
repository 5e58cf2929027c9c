(define (problem long_5)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 - thing
    tray_1 - surface
    screwdriver_1 screwdriver_2 screwdriver_3 screwdriver_4 screwdriver_5 - thing
    bowl_1 - container
    drawer_1 drawer_2 - drawer)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on screwdriver_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on box_3 tray_1)
    (on box_4 tray_1)
    (in screwdriver_2 drawer_2)
    (in screwdriver_3 drawer_2)
    (in screwdriver_4 drawer_2)
    (in screwdriver_5 drawer_2)
    (not (open drawer_2)))))
