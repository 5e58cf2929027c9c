(define (problem medium_17)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 - thing
    plate_1 - surface
    ball_1 ball_2 - thing
    bowl_1 - container
    box_1 - thing
    tray_1 - surface
    ball_3 cup_3 - thing
    tray_2 - surface)
  (:init
    (on cup_1 table) (on cup_2 table) (on ball_1 table) (on ball_2 table) (on box_1 table) (on ball_3 table) (on cup_3 table)
    (handempty))
  (:goal (and
    (on cup_2 plate_1)
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (on box_1 tray_1))))
