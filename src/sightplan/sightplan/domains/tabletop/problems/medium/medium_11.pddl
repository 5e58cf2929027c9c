(define (problem medium_11)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 screwdriver_3 screwdriver_4 - thing
    crate_1 - container
    drawer_1 drawer_2 - drawer)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on screwdriver_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in screwdriver_1 drawer_2)
    (in screwdriver_2 drawer_2)
    (in screwdriver_3 drawer_2)
    (not (open drawer_2)))))
