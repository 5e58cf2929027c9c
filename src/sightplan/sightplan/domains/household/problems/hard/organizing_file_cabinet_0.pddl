(define (problem organizing_file_cabinet_0)
  (:domain household)
  (:objects
    marker_1 document_1 document_2 document_3 document_4 folder_1 folder_2 - movable
    cabinet_1 - container
    table_1 - object)
  (:init
    (ontop marker_1 cabinet_1) (ontop document_1 table_1) (ontop document_2 table_1) (ontop document_3 table_1) (ontop folder_1 table_1))
  (:goal (and
    (ontop marker_1 table_1)
    (inside document_1 cabinet_1)
    (inside document_3 cabinet_1))))
