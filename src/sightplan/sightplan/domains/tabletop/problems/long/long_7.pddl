(define (problem long_7)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 napkin_3 banana_1 banana_2 - thing
    crate_1 - container
    can_1 can_2 - thing
    plate_1 - surface
    bottle_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on banana_1 table) (on banana_2 table) (on can_1 table) (on can_2 table) (on bottle_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_2)
    (in napkin_2 drawer_2)
    (in napkin_3 drawer_2)
    (in banana_1 crate_1)
    (in banana_2 crate_1)
    (on can_2 plate_1)
    (not (open drawer_2)))))
