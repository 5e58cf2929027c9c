(define (problem long_13)
  (:domain tabletop)
  (:objects
    table - surface
    banana_1 banana_2 - thing
    crate_1 - container
    bottle_1 can_1 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 fork_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on banana_1 table) (on banana_2 table) (on bottle_1 table) (on can_1 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on fork_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in banana_1 crate_1)
    (on bottle_1 tray_1)
    (on can_1 tray_1)
    (in ball_2 drawer_1)
    (in ball_3 drawer_1)
    (not (open drawer_1)))))
