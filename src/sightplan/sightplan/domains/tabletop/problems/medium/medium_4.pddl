(define (problem medium_4)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 can_1 can_2 bottle_1 knife_1 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on can_1 table) (on can_2 table) (on bottle_1 table) (on knife_1 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_2)
    (in napkin_2 drawer_2)
    (not (open drawer_2)))))
