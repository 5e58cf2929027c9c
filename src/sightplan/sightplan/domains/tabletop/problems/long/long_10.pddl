(define (problem long_10)
  (:domain tabletop)
  (:objects
    table - surface
    spoon_1 spoon_2 - thing
    crate_1 - container
    ball_1 - thing
    bowl_1 - container
    napkin_1 ball_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on spoon_1 table) (on spoon_2 table) (on ball_1 table) (on napkin_1 table) (on ball_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in spoon_1 crate_1)
    (in spoon_2 crate_1)
    (in ball_1 bowl_1)
    (in napkin_1 drawer_2)
    (not (open drawer_2)))))
