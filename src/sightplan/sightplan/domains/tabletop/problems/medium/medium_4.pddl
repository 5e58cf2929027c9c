(define (problem medium_4)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 bottle_1 cup_1 bottle_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on bottle_1 table) (on cup_1 table) (on bottle_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (not (open drawer_2)))))
