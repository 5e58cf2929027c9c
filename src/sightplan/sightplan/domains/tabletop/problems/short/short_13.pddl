(define (problem short_13)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    ball_4 - thing
    bowl_2 - container
    screwdriver_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on screwdriver_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_3 bowl_1))))
