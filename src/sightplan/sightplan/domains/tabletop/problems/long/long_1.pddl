(define (problem long_1)
  (:domain tabletop)
  (:objects
    table - surface
    fork_1 fork_2 fork_3 fork_4 fork_5 - thing
    crate_1 - container
    cup_1 cup_2 cup_3 cup_4 - thing
    tray_1 - surface
    fork_6 - thing)
  (:init
    (on fork_1 table) (on fork_2 table) (on fork_3 table) (on fork_4 table) (on fork_5 table) (on cup_1 table) (on cup_2 table) (on cup_3 table) (on cup_4 table) (on fork_6 table)
    (handempty))
  (:goal (and
    (in fork_2 crate_1)
    (in fork_3 crate_1)
    (in fork_5 crate_1)
    (on cup_1 tray_1)
    (on cup_2 tray_1)
    (on cup_3 tray_1)
    (on cup_4 tray_1))))
