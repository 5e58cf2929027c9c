(define (problem long_4)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 - thing
    plate_1 - surface
    screwdriver_1 screwdriver_2 screwdriver_3 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 ball_4 - thing
    bowl_1 - container
    cup_3 - thing)
  (:init
    (on cup_1 table) (on cup_2 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on cup_3 table)
    (handempty))
  (:goal (and
    (on cup_1 plate_1)
    (on cup_2 plate_1)
    (on screwdriver_2 tray_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (in ball_4 bowl_1))))
