(define (problem medium_21)
  (:domain tabletop)
  (:objects
    table - surface
    knife_1 fork_1 - thing
    tray_1 - surface
    bottle_1 bottle_2 - thing
    tray_2 - surface
    banana_1 - thing
    crate_1 - container
    cup_1 cup_2 can_1 - thing)
  (:init
    (on knife_1 table) (on fork_1 table) (on bottle_1 table) (on bottle_2 table) (on banana_1 table) (on cup_1 table) (on cup_2 table) (on can_1 table)
    (handempty))
  (:goal (and
    (on knife_1 tray_1)
    (on fork_1 tray_1)
    (on bottle_1 tray_2)
    (in banana_1 crate_1))))
