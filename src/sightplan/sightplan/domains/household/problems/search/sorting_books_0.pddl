(define (problem sorting_books_0)
  (:domain household)
  (:objects
    book_1 book_2 book_3 book_4 hardback_1 hardback_2 hardback_3 hardback_4 notebook_1 notebook_2 - movable
    counter_1 desk_1 table_1 table_2 - object)
  (:init
    (ontop book_2 table_2) (ontop book_3 counter_1) (ontop book_4 table_2) (ontop hardback_2 desk_1) (ontop hardback_3 table_1) (ontop hardback_4 counter_1) (ontop notebook_1 table_1) (ontop notebook_2 counter_1))
  (:goal (and
    (ontop book_1 table_2)
    (ontop book_2 table_2)
    (ontop book_3 counter_1)
    (ontop book_4 counter_1)
    (ontop hardback_1 desk_1)
    (ontop hardback_2 desk_1)
    (ontop hardback_3 table_1)
    (ontop hardback_4 table_1))))
