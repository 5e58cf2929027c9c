(define (problem medium_17)
  (:domain tabletop)
  (:objects
    table - surface
    cup_1 cup_2 - thing
    plate_1 - surface
    ball_1 ball_2 - thing
    bowl_1 - container
    banana_1 banana_2 - thing
    crate_1 - container
    bottle_1 - thing)
  (:init
    (on cup_1 table) (on cup_2 table) (on ball_1 table) (on ball_2 table) (on banana_1 table) (on banana_2 table) (on bottle_1 table)
    (handempty))
  (:goal (and
    (on cup_2 plate_1)
    (in ball_1 bowl_1)
    (in ball_2 bowl_1)
    (in banana_1 crate_1))))
