(define (problem medium_8)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 box_3 box_4 - thing
    tray_1 - surface
    apple_1 apple_2 - thing
    bowl_1 - container
    box_5 jar_1 - thing)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on apple_1 table) (on apple_2 table) (on box_5 table) (on jar_1 table)
    (handempty))
  (:goal (and
    (on box_2 tray_1)
    (on box_3 tray_1)
    (in apple_1 bowl_1)
    (in apple_2 bowl_1))))
