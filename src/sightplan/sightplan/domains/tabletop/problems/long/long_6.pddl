(define (problem long_6)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    crate_1 - container
    banana_1 banana_2 banana_3 banana_4 - thing
    crate_2 - container
    bottle_1 - thing)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on banana_1 table) (on banana_2 table) (on banana_3 table) (on banana_4 table) (on bottle_1 table)
    (handempty))
  (:goal (and
    (in ball_2 crate_1)
    (in ball_3 crate_1)
    (in ball_4 crate_1)
    (in ball_5 crate_1)
    (in banana_2 crate_2)
    (in banana_4 crate_2))))
