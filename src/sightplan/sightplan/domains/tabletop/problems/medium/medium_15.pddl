(define (problem medium_15)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 - thing
    crate_1 - container
    cup_1 cup_2 - thing
    crate_2 - container
    jar_1 jar_2 jar_3 - thing
    tray_1 - surface
    cup_3 - thing)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on cup_1 table) (on cup_2 table) (on jar_1 table) (on jar_2 table) (on jar_3 table) (on cup_3 table)
    (handempty))
  (:goal (and
    (in napkin_1 crate_1)
    (in cup_1 crate_2)
    (on jar_3 tray_1))))
