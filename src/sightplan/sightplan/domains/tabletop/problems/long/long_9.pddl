(define (problem long_9)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 can_5 can_6 - thing
    crate_1 - container
    apple_1 apple_2 apple_3 apple_4 apple_5 - thing
    crate_2 - container
    cup_1 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on can_6 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table) (on cup_1 table)
    (handempty))
  (:goal (and
    (in can_2 crate_1)
    (in can_3 crate_1)
    (in can_4 crate_1)
    (in can_5 crate_1)
    (in can_6 crate_1)
    (in apple_2 crate_2)
    (in apple_3 crate_2)
    (in apple_4 crate_2)
    (in apple_5 crate_2))))
