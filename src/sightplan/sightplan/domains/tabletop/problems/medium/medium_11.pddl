(define (problem medium_11)
  (:domain tabletop)
  (:objects
    table - surface
    spoon_1 - thing
    tray_1 - surface
    ball_1 - thing
    bowl_1 - container
    cup_1 cup_2 cup_3 cup_4 - thing
    crate_1 - container
    ball_2 - thing)
  (:init
    (on spoon_1 table) (on ball_1 table) (on cup_1 table) (on cup_2 table) (on cup_3 table) (on cup_4 table) (on ball_2 table)
    (handempty))
  (:goal (and
    (on spoon_1 tray_1)
    (in ball_1 bowl_1)
    (in cup_2 crate_1)
    (in cup_4 crate_1))))
