(define (problem medium_23)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 spoon_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on spoon_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_1)
    (in ball_2 drawer_1)
    (not (open drawer_1)))))
