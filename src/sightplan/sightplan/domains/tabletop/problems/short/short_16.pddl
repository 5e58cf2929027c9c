(define (problem short_16)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 hammer_1 cup_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on hammer_1 table) (on cup_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (open drawer_1))))
