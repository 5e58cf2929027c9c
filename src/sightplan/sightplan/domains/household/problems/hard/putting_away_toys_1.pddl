(define (problem putting_away_toys_1)
  (:domain household)
  (:objects
    plaything_1 plaything_2 plaything_3 plaything_4 - movable
    carton_1 carton_2 - container
    table_1 - object)
  (:init
    (open carton_1)
    (ontop plaything_1 table_1) (ontop plaything_3 table_1))
  (:goal (and
    (inside plaything_1 carton_1)
    (inside plaything_2 carton_1)
    (inside plaything_4 carton_1))))
