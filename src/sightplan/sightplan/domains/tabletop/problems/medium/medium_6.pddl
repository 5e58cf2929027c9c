(define (problem medium_6)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 cup_1 cup_2 cup_3 - thing
    plate_1 - surface
    screwdriver_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on cup_1 table) (on cup_2 table) (on cup_3 table) (on screwdriver_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_2 drawer_1)
    (on cup_2 plate_1)
    (on cup_3 plate_1)
    (not (open drawer_1)))))
