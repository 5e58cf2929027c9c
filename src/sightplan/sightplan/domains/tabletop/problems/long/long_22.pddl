(define (problem long_22)
  (:domain tabletop)
  (:objects
    table - surface
    hammer_1 - thing
    crate_1 - container
    ball_1 ball_2 ball_3 ball_4 ball_5 ball_6 - thing
    crate_2 - container
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface)
  (:init
    (on hammer_1 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on ball_6 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table)
    (handempty))
  (:goal (and
    (in hammer_1 crate_1)
    (in ball_2 crate_2)
    (in ball_3 crate_2)
    (in ball_4 crate_2)
    (in ball_5 crate_2)
    (in ball_6 crate_2)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1))))
