(define (problem short_12)
  (:domain tabletop)
  (:objects
    table - surface
    screwdriver_1 screwdriver_2 screwdriver_3 spoon_1 spoon_2 spoon_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on spoon_1 table) (on spoon_2 table) (on spoon_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in screwdriver_1 drawer_2)
    (not (open drawer_2)))))
