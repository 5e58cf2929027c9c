(define (problem long_1)
  (:domain tabletop)
  (:objects
    table - surface
    fork_1 fork_2 fork_3 fork_4 fork_5 - thing
    crate_1 - container
    can_1 can_2 can_3 can_4 can_5 - thing
    crate_2 - container
    fork_6 - thing)
  (:init
    (on fork_1 table) (on fork_2 table) (on fork_3 table) (on fork_4 table) (on fork_5 table) (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on can_5 table) (on fork_6 table)
    (handempty))
  (:goal (and
    (in fork_2 crate_1)
    (in fork_3 crate_1)
    (in fork_4 crate_1)
    (in can_1 crate_2)
    (in can_2 crate_2)
    (in can_3 crate_2)
    (in can_4 crate_2))))
