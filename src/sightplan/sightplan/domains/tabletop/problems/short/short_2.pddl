(define (problem short_2)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 - thing
    tray_1 - surface
    fork_1 fork_2 can_4 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on fork_1 table) (on fork_2 table) (on can_4 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1))))
