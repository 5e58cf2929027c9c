(define (problem short_17)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 - thing
    plate_1 - surface
    knife_1 knife_2 ball_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on knife_1 table) (on knife_2 table) (on ball_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on can_2 plate_1))))
