(define (problem long_17)
  (:domain tabletop)
  (:objects
    table - surface
    fork_1 fork_2 napkin_1 screwdriver_1 screwdriver_2 screwdriver_3 can_1 can_2 - thing
    plate_1 - surface
    fork_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on fork_1 table) (on fork_2 table) (on napkin_1 table) (on screwdriver_1 table) (on screwdriver_2 table) (on screwdriver_3 table) (on can_1 table) (on can_2 table) (on fork_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in fork_1 drawer_1)
    (in fork_2 drawer_1)
    (in napkin_1 drawer_1)
    (in screwdriver_1 drawer_2)
    (in screwdriver_2 drawer_2)
    (in screwdriver_3 drawer_2)
    (not (open drawer_1))
    (not (open drawer_2)))))
