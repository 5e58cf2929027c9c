(define (problem medium_14)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 - thing
    bowl_1 - container
    banana_1 hammer_1 hammer_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on banana_1 table) (on hammer_1 table) (on hammer_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 bowl_1)
    (in banana_1 drawer_2)
    (not (open drawer_2)))))
