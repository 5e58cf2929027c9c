(define (problem long_15)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 - thing
    bowl_1 - container
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    banana_1 - thing)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on banana_1 table)
    (handempty))
  (:goal (and
    (in apple_3 bowl_1)
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1))))
