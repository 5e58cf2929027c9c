(define (problem long_6)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 - thing
    crate_1 - container
    screwdriver_1 screwdriver_2 screwdriver_3 cup_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on apple_1 table) (on apple_2 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on cup_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in apple_1 crate_1)
    (in apple_2 crate_1)
    (in screwdriver_1 drawer_1)
    (in screwdriver_2 drawer_1)
    (in screwdriver_3 drawer_1)
    (open drawer_1))))
