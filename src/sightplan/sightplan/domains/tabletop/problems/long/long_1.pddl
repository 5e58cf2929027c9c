(define (problem long_1)
  (:domain tabletop)
  (:objects
    table - surface
    fork_1 fork_2 fork_3 fork_4 fork_5 - thing
    crate_1 - container
    apple_1 apple_2 banana_1 apple_3 - thing
    tray_1 - surface
    fork_6 - thing)
  (:init
    (on fork_1 table) (on fork_2 table) (on fork_3 table) (on fork_4 table) (on fork_5 table) (on apple_1 table) (on apple_2 table) (on banana_1 table) (on apple_3 table) (on fork_6 table)
    (handempty))
  (:goal (and
    (in fork_1 crate_1)
    (in fork_3 crate_1)
    (in fork_4 crate_1)
    (on apple_1 tray_1)
    (on apple_2 tray_1)
    (on banana_1 tray_1)
    (on apple_3 tray_1))))
