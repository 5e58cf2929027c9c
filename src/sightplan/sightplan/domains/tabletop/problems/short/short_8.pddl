(define (problem short_8)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 - thing
    bowl_1 - container
    spoon_1 spoon_2 apple_3 - thing)
  (:init
    (on apple_1 table) (on apple_2 table) (on spoon_1 table) (on spoon_2 table) (on apple_3 table)
    (handempty))
  (:goal (and
    (in apple_1 bowl_1)
    (in apple_2 bowl_1))))
