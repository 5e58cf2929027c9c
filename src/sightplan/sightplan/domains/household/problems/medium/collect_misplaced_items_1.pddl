(define (problem collect_misplaced_items_1)
  (:domain household)
  (:objects
    gym_shoe_1 sock_1 sock_2 - movable
    cabinet_1 - container
    table_1 table_2 - object)
  (:init)
  (:goal (and
    (ontop gym_shoe_1 table_2)
    (ontop sock_2 table_2))))
