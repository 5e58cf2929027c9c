(define (problem medium_24)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 - thing
    crate_1 - container
    ball_1 ball_2 ball_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on ball_1 table) (on ball_2 table) (on ball_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_1 crate_1)
    (in banana_2 crate_1)
    (in ball_2 drawer_1)
    (not (open drawer_1)))))
