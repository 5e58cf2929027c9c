(define (problem long_18)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 mug_1 mug_2 mug_3 - thing
    plate_1 - surface
    apple_1 apple_2 apple_3 apple_4 apple_5 - thing
    tray_1 - surface
    mug_4 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on mug_1 table) (on mug_2 table) (on mug_3 table) (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on apple_5 table) (on mug_4 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_2)
    (on mug_1 plate_1)
    (on apple_1 tray_1)
    (on apple_2 tray_1)
    (on apple_3 tray_1)
    (on apple_4 tray_1)
    (on apple_5 tray_1)
    (not (open drawer_2)))))
