(define (problem cleaning_out_drawers_2)
  (:domain household)
  (:objects
    bowl_1 bowl_2 cloth_1 - movable
    cabinet_1 - container
    sink_1 - object)
  (:init
    (inside bowl_1 cabinet_1) (inside bowl_2 cabinet_1) (inside cloth_1 cabinet_1))
  (:goal (and
    (ontop bowl_1 sink_1)
    (ontop bowl_2 sink_1)
    (ontop cloth_1 sink_1))))
