(define (problem short_22)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 - thing
    bowl_1 - container
    ball_3 - thing
    bowl_2 - container
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table)
    (open drawer_1)
    (clear drawer_1)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_2 bowl_1)
    (not (open drawer_1)))))
