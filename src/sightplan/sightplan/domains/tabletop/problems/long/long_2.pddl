(define (problem long_2)
  (:domain tabletop)
  (:objects
    table - surface
    jar_1 jar_2 jar_3 jar_4 jar_5 - thing
    tray_1 - surface
    apple_1 banana_1 - thing
    crate_1 - container
    hammer_1 - thing)
  (:init
    (on jar_1 table) (on jar_2 table) (on jar_3 table) (on jar_4 table) (on jar_5 table) (on apple_1 table) (on banana_1 table) (on hammer_1 table)
    (handempty))
  (:goal (and
    (on jar_3 tray_1)
    (on jar_4 tray_1)
    (on jar_5 tray_1)
    (in apple_1 crate_1)
    (in banana_1 crate_1))))
