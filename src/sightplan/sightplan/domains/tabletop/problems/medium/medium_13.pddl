(define (problem medium_13)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    fork_1 fork_2 fork_3 - thing
    tray_2 - surface
    can_2 - thing)
  (:init
    (on can_1 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on fork_1 table) (on fork_2 table) (on fork_3 table) (on can_2 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (on fork_1 tray_2))))
