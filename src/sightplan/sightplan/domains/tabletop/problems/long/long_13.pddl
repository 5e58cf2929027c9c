(define (problem long_13)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 can_5 - thing
    crate_1 - container
    fork_1 fork_2 knife_1 - thing
    tray_1 - surface
    ball_1 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on fork_1 table) (on fork_2 table) (on knife_1 table) (on ball_1 table)
    (handempty))
  (:goal (and
    (in can_1 crate_1)
    (in can_2 crate_1)
    (in can_3 crate_1)
    (in can_4 crate_1)
    (in can_5 crate_1)
    (on fork_1 tray_1)
    (on fork_2 tray_1)
    (on knife_1 tray_1))))
