(define (problem long_9)
  (:domain tabletop)
  (:objects
    table - surface
    fork_1 fork_2 fork_3 fork_4 - thing
    tray_1 - surface
    screwdriver_1 screwdriver_2 screwdriver_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on fork_1 table) (on fork_2 table) (on fork_3 table) (on fork_4 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on fork_2 tray_1)
    (on fork_3 tray_1)
    (on fork_4 tray_1)
    (in screwdriver_1 drawer_2)
    (in screwdriver_2 drawer_2)
    (not (open drawer_2)))))
