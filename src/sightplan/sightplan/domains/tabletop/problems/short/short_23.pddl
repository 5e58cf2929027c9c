(define (problem short_23)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 banana_1 napkin_2 napkin_3 apple_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on banana_1 table) (on napkin_2 table) (on napkin_3 table) (on apple_1 table)
    (open drawer_1)
    (clear drawer_1)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_1)
    (open drawer_1))))
