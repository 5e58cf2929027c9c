(define (problem short_4)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 napkin_1 napkin_2 fork_1 fork_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on napkin_1 table) (on napkin_2 table) (on fork_1 table) (on fork_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (open drawer_2))))
