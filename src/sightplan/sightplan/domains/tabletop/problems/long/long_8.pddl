(define (problem long_8)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 banana_1 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 ball_4 - thing
    bowl_1 - container
    can_4 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on banana_1 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on can_4 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on banana_1 tray_1)
    (in ball_1 bowl_1)
    (in ball_3 bowl_1))))
