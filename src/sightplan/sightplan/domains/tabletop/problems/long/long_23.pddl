(define (problem long_23)
  (:domain tabletop)
  (:objects
    table - surface
    spoon_1 spoon_2 spoon_3 - thing
    crate_1 - container
    ball_1 ball_2 ball_3 ball_4 hammer_1 cup_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on spoon_1 table) (on spoon_2 table) (on spoon_3 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on hammer_1 table) (on cup_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in spoon_2 crate_1)
    (in ball_1 drawer_2)
    (in ball_2 drawer_2)
    (in ball_3 drawer_2)
    (in ball_4 drawer_2)
    (not (open drawer_2)))))
