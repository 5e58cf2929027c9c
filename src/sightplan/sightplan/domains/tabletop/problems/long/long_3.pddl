(define (problem long_3)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 can_3 can_4 - thing
    tray_1 - surface
    napkin_1 napkin_2 napkin_3 can_5 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on can_1 table) (on can_2 table) (on can_3 table) (on can_4 table) (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on can_5 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on can_3 tray_1)
    (on can_4 tray_1)
    (in napkin_2 drawer_2)
    (not (open drawer_2)))))
