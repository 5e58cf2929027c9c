(define (problem short_0)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 - thing
    bowl_1 - container
    cup_1 - thing
    tray_1 - surface
    cup_2 - thing)
  (:init
    (on apple_1 table) (on apple_2 table) (on cup_1 table) (on cup_2 table)
    (handempty))
  (:goal (and
    (in apple_1 bowl_1)
    (in apple_2 bowl_1))))
