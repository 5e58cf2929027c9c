(define (problem medium_9)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 hammer_1 hammer_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on hammer_1 table) (on hammer_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (not (open drawer_2)))))
