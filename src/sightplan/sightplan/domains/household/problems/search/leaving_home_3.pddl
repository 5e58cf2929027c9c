(define (problem leaving_home_3)
  (:domain household)
  (:objects
    apple_1 ball_1 gym_shoe_1 snack_food_1 sock_1 - movable
    cabinet_1 door_1 door_2 fridge_1 window_1 window_2 window_3 window_4 - container
    counter_1 table_1 - object)
  (:init
    (open cabinet_1) (open window_1) (open window_2)
    (ontop apple_1 counter_1) (ontop ball_1 table_1) (ontop gym_shoe_1 table_1) (ontop sock_1 counter_1))
  (:goal (and
    (ontop ball_1 table_1)
    (ontop gym_shoe_1 table_1)
    (ontop snack_food_1 table_1)
    (ontop sock_1 table_1)
    (not (open cabinet_1))
    (not (open door_1))
    (not (open door_2))
    (not (open fridge_1))
    (not (open window_1))
    (not (open window_2))
    (not (open window_3))
    (not (open window_4)))))
