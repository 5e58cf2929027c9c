(define (problem medium_2)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 - thing
    bowl_1 - container
    apple_4 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in apple_1 bowl_1)
    (in apple_2 bowl_1)
    (in apple_3 bowl_1))))
