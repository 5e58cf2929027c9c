(define (problem short_8)
  (:domain tabletop)
  (:objects
    table - surface
    hammer_1 screwdriver_1 - thing
    crate_1 - container
    banana_1 cup_1 apple_1 - thing)
  (:init
    (on hammer_1 table) (on screwdriver_1 table) (on banana_1 table) (on cup_1 table) (on apple_1 table)
    (handempty))
  (:goal (and
    (in hammer_1 crate_1)
    (in screwdriver_1 crate_1))))
