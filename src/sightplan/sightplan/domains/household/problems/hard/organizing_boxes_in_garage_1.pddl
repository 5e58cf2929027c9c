(define (problem organizing_boxes_in_garage_1)
  (:domain household)
  (:objects
    ball_1 ball_2 plate_1 plate_2 plate_3 saucepan_1 - movable
    cabinet_1 carton_1 carton_2 - container
    shelf_1 - object)
  (:init
    (ontop plate_1 shelf_1) (ontop plate_2 shelf_1) (ontop plate_3 plate_2) (ontop saucepan_1 shelf_1)
    (inside ball_1 carton_2) (inside ball_2 carton_2))
  (:goal (and
    (inside ball_1 carton_1)
    (inside plate_1 carton_1))))
