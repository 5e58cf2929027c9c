(define (problem short_7)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 - thing
    bowl_1 - container
    hammer_1 hammer_2 napkin_1 jar_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on hammer_1 table) (on hammer_2 table) (on napkin_1 table) (on jar_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_2 bowl_1)
    (in ball_3 bowl_1))))
