(define (problem long_22)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 - thing
    crate_1 - container
    napkin_1 napkin_2 napkin_3 - thing
    crate_2 - container
    cup_1 cup_2 - thing
    plate_1 - surface
    ball_1 ball_2 ball_3 ball_4 - thing
    bowl_1 - container)
  (:init
    (on can_1 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on cup_1 table) (on cup_2 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table)
    (handempty))
  (:goal (and
    (in can_1 crate_1)
    (in napkin_2 crate_2)
    (in napkin_3 crate_2)
    (on cup_1 plate_1)
    (on cup_2 plate_1)
    (in ball_2 bowl_1)
    (in ball_3 bowl_1)
    (in ball_4 bowl_1))))
