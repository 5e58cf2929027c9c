(define (problem short_21)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 - thing
    crate_1 - container
    napkin_3 ball_1 ball_2 - thing)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on ball_1 table) (on ball_2 table)
    (handempty))
  (:goal (and
    (in napkin_1 crate_1))))
