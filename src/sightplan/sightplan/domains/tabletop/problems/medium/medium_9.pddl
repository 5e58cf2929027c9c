(define (problem medium_9)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 screwdriver_3 screwdriver_4 screwdriver_5 screwdriver_6 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table) (on screwdriver_5 table) (on screwdriver_6 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in screwdriver_1 drawer_1)
    (in screwdriver_2 drawer_1)
    (in screwdriver_3 drawer_1)
    (not (open drawer_1)))))
