(define (problem medium_18)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 ball_2 ball_3 ball_4 - thing
    bowl_1 - container
    banana_1 spoon_1 ball_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on banana_1 table) (on spoon_1 table) (on ball_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in ball_1 bowl_1)
    (in ball_3 bowl_1)
    (in ball_4 bowl_1))))
