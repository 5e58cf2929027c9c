(define (problem short_24)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 - thing
    bowl_1 - container
    ball_3 fork_1 fork_2 - thing)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on fork_1 table) (on fork_2 table)
    (handempty))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_2 bowl_1))))
