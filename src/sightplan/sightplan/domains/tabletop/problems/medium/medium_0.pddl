(define (problem medium_0)
  (:domain tabletop)
  (:objects
    table - surface
    ball_1 - thing
    bowl_1 - container
    bottle_1 bottle_2 bottle_3 - thing
    tray_1 - surface
    bottle_4 ball_2 fork_1 - thing)
  (:init
    (on ball_1 table) (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on ball_2 table) (on fork_1 table)
    (handempty))
  (:goal (and
    (in ball_1 bowl_1)
    (on bottle_1 tray_1)
    (on bottle_2 tray_1))))
