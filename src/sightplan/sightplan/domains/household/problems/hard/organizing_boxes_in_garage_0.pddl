(define (problem organizing_boxes_in_garage_0)
  (:domain household)
  (:objects
    ball_1 ball_2 plate_1 plate_2 plate_3 saucepan_1 - movable
    cabinet_1 carton_1 carton_2 - container
    shelf_1 - object)
  (:init
    (open carton_2)
    (ontop plate_1 shelf_1) (ontop plate_2 shelf_1)
    (inside ball_1 cabinet_1) (inside plate_3 cabinet_1) (inside saucepan_1 cabinet_1))
  (:goal (and
    (inside ball_1 carton_1)
    (inside plate_1 carton_1))))
