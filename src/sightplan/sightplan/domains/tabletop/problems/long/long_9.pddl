(define (problem long_9)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    crate_1 - container
    can_1 can_2 can_3 can_4 - thing
    crate_2 - container
    ball_6 - thing)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on ball_6 table)
    (handempty))
  (:goal (and
    (in ball_1 crate_1)
    (in ball_2 crate_1)
    (in ball_3 crate_1)
    (in ball_4 crate_1)
    (in ball_5 crate_1)
    (in can_1 crate_2)
    (in can_2 crate_2)
    (in can_3 crate_2)
    (in can_4 crate_2))))
