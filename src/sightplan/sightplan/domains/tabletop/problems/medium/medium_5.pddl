(define (problem medium_5)
  (:domain tabletop)
  (:objects
    table - surface
    apple_1 apple_2 apple_3 apple_4 - thing
    tray_1 - surface
    napkin_1 - thing)
  (:init
    (on apple_1 table) (on apple_2 table) (on apple_3 table) (on apple_4 table) (on napkin_1 table)
    (handempty))
  (:goal (and
    (on apple_1 tray_1)
    (on apple_2 tray_1)
    (on apple_3 tray_1)
    (on apple_4 tray_1))))
