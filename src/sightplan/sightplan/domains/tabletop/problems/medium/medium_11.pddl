(define (problem medium_11)
  (:domain tabletop)
  (:objects
    table - surface
    spoon_1 - thing
    tray_1 - surface
    apple_1 apple_2 - thing
    crate_1 - container
    hammer_1 screwdriver_1 - thing
    crate_2 - container
    spoon_2 spoon_3 apple_3 - thing)
  (:init
    (on spoon_1 table) (on apple_1 table) (on apple_2 table) (on hammer_1 table) (on screwdriver_1 table) (on spoon_2 table) (on spoon_3 table) (on apple_3 table)
    (handempty))
  (:goal (and
    (on spoon_1 tray_1)
    (in apple_1 crate_1)
    (in hammer_1 crate_2)
    (in screwdriver_1 crate_2))))
