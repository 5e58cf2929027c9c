(define (problem short_11)
  (:domain tabletop)
  (:objects
    table - surface
    box_1 box_2 - thing
    tray_1 - surface
    box_3 box_4 box_5 - thing)
  (:init
    (on box_1 table) (on box_2 table) (on box_3 table) (on box_4 table) (on box_5 table)
    (handempty))
  (:goal (and
    (on box_1 tray_1))))
