(define (problem short_20)
  (:domain tabletop)
  (:objects
    table - surface
    napkin_1 napkin_2 napkin_3 mug_1 ball_1 mug_2 mug_3 - thing
    drawer_1 drawer_2 - drawer)
  (:init
    (on napkin_1 table) (on napkin_2 table) (on napkin_3 table) (on mug_1 table) (on ball_1 table) (on mug_2 table) (on mug_3 table)
    (clear drawer_1) (clear drawer_2)
    (handempty)
    (over drawer_1 drawer_2))
  (:goal (and
    (in napkin_1 drawer_1)
    (open drawer_1))))
