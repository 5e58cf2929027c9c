(define (problem short_15)
  (:domain tabletop)
  (:objects
    table - surface
    can_1 can_2 - thing
    tray_1 - surface
    box_1 - thing
    bowl_1 - container
    napkin_1 ball_1 - thing)
  (:init
    (on can_1 table) (on can_2 table) (on box_1 table) (on napkin_1 table) (on ball_1 table)
    (handempty))
  (:goal (and
    (on can_1 tray_1)
    (on can_2 tray_1))))
