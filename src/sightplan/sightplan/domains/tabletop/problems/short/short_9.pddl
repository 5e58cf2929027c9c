(define (problem short_9)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 - thing
    plate_1 - surface
    napkin_3 jar_1 jar_2 - thing)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on jar_1 table) (on jar_2 table)
    (handempty))
  (:goal (and
    (on napkin_1 plate_1))))
