(define (problem short_18)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 - thing
    plate_1 - surface
    napkin_2 screwdriver_1 apple_1 banana_1 - thing)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on screwdriver_1 table) (on apple_1 table) (on banana_1 table)
    (handempty))
  (:goal (and
    (on napkin_1 plate_1))))
