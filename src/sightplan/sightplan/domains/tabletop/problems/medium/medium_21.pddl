(define (problem medium_21)
  (:domain tabletop)
  (:objects
    table - surface
    knife_1 fork_1 - thing
    tray_1 - surface
    bottle_1 - thing
    crate_1 - container
    napkin_1 napkin_2 - thing
    crate_2 - container
    napkin_3 jar_1 - thing)
  (:init
    (on knife_1 table) (on fork_1 table) (on bottle_1 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on jar_1 table)
    (handempty))
  (:goal (and
    (on knife_1 tray_1)
    (on fork_1 tray_1)
    (in bottle_1 crate_1)
    (in napkin_2 crate_2))))
