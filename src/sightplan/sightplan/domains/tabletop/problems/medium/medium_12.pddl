(define (problem medium_12)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    crate_1 - container
    jar_1 ball_4 jar_2 jar_3 - thing)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on jar_1 table) (on ball_4 table) (on jar_2 table) (on jar_3 table)
    (handempty))
  (:goal (and
    (in ball_1 crate_1)
    (in ball_2 crate_1)
    (in ball_3 crate_1))))
