(define (problem short_1)
  (:domain tabletop)
  (:objects
    table - surface
    bowl_1 - container
    plate_1 - surface
    can_1 can_2 - thing
    crate_1 - container
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table)
    (open drawer_2)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (not (open drawer_2)))))
