(define (problem sorting_books_2)
  (:domain household)
  (:objects
    hardback_1 book_1 - movable
    table_1 shelf_1 - object)
  (:init
    (ontop hardback_1 table_1))
  (:goal (and
    (ontop hardback_1 shelf_1)
    (ontop book_1 shelf_1))))
