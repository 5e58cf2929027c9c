(define (problem short_8)
  (:domain tabletop)
  (:objects
    table - surface
    hammer_1 screwdriver_1 - thing
    crate_1 - container
    jar_1 jar_2 jar_3 - thing)
  (:init
    (on hammer_1 table) (on screwdriver_1 table) (on jar_1 table) (on jar_2 table) (on jar_3 table)
    (handempty))
  (:goal (and
    (in hammer_1 crate_1)
    (in screwdriver_1 crate_1))))
