(define (problem medium_7)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 ball_1 ball_2 - thing
    bowl_1 - container
    plate_1 - surface
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on ball_1 table) (on ball_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_2 drawer_1)
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (open drawer_1))))
