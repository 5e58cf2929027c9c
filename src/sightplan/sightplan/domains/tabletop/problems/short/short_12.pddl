(define (problem short_12)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 napkin_3 screwdriver_1 screwdriver_2 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on screwdriver_1 table) (on screwdriver_2 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_2)
    (not (open drawer_2)))))
