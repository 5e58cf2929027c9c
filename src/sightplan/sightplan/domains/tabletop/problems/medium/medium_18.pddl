(define (problem medium_18)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 banana_1 can_1 - thing
    crate_1 - container
    can_2 apple_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on cup_1 table) (on banana_1 table) (on can_1 table) (on can_2 table) (on apple_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in cup_1 crate_1)
    (in banana_1 crate_1)
    (in can_1 crate_1))))
