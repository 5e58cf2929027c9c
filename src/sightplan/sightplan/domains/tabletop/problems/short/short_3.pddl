(define (problem short_3)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 - thing
    crate_1 - container
    apple_4 apple_5 - thing)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table)
    (handempty))
  (:goal (and
    (in apple_3 crate_1))))
