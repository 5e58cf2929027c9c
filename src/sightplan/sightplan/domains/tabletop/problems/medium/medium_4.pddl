(define (problem medium_4)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 napkin_3 napkin_4 cup_1 hammer_1 - thing
    plate_1 - surface
    cup_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on napkin_4 table) (on cup_1 table) (on hammer_1 table) (on cup_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_2)
    (in napkin_3 drawer_2)
    (not (open drawer_2)))))
