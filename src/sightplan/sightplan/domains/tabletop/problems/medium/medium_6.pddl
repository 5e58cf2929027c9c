(define (problem medium_6)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 apple_1 banana_1 - thing
    crate_1 - container
    napkin_3 mug_1 mug_2 fork_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on apple_1 table) (on banana_1 table) (on napkin_3 table) (on mug_1 table) (on mug_2 table) (on fork_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_1)
    (in apple_1 crate_1)
    (in banana_1 crate_1)
    (not (open drawer_1)))))
