(define (problem medium_22)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    crate_1 - container
    plate_1 - surface)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table)
    (handempty))
  (:goal (and
    (in ball_1 crate_1)
    (in ball_3 crate_1)
    (in ball_4 crate_1)
    (in ball_5 crate_1))))
