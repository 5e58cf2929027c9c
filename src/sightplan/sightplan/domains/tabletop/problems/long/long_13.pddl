(define (problem long_13)
  (:domain tabletop)
  (:objects
    table - surface
    bottle_1 bottle_2 bottle_3 bottle_4 bottle_5 - thing
    tray_1 - surface
    ball_1 ball_2 ball_3 ball_4 ball_5 - thing
    bowl_1 - container
    ball_6 - thing)
  (:init
    (on bottle_1 table) (on bottle_2 table) (on bottle_3 table) (on bottle_4 table) (on bottle_5 table) (on ball_1 table) (on ball_2 table) (on ball_3 table) (on ball_4 table) (on ball_5 table) (on ball_6 table)
    (handempty))
  (:goal (and
    (on bottle_1 tray_1)
    (on bottle_2 tray_1)
    (on bottle_3 tray_1)
    (on bottle_4 tray_1)
    (on bottle_5 tray_1)
    (in ball_1 bowl_1)
    (in ball_4 bowl_1)
    (in ball_5 bowl_1))))
