(define (problem long_8)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 can_1 can_2 - thing
    tray_1 - surface
    spoon_1 spoon_2 - thing
    tray_2 - surface
    mug_1 - thing)
  (:init
    (on box_1 table) (on box_2 table) (on can_1 table) (on can_2 table) (on spoon_1 table) (on spoon_2 table) (on mug_1 table)
    (handempty))
  (:goal (and
    (on box_1 tray_1)
    (on box_2 tray_1)
    (on can_1 tray_1)
    (on can_2 tray_1)
    (on spoon_1 tray_2)
    (on spoon_2 tray_2))))
