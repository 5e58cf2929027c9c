(define (problem long_19)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    can_5 spoon_1 - thing)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on spoon_1 table)
    (handempty))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1))))
