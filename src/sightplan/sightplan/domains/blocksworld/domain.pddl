; Coloured blocks stacked in columns. The only skill takes the topmost block of a column and
; puts it on top of another column. All conditions refer to the state before the move.
(define (domain blocksworld)
  (:requirements :strips :typing :negative-preconditions :equality
                 :universal-preconditions :conditional-effects)

  (:types block column)

  (:predicates
    (on ?upper - block ?lower - block)
    (inColumn ?b - block ?c - column)
    (clear ?b - block)
    (leftOf ?c - column ?other - column)
    (rightOf ?c - column ?other - column))

  (:action moveBlock
    :parameters (?b1 - block ?c1 - column)
    :precondition (and (clear ?b1) (not (inColumn ?b1 ?c1)))
    :effect (and
      ; It arrives on top of the target column ...
      (inColumn ?b1 ?c1)
      (clear ?b1)
      (forall (?top - block)
        (when (and (inColumn ?top ?c1) (clear ?top) (not (= ?top ?b1)))
          (and (on ?b1 ?top) (not (clear ?top)))))
      ; ... and leaves its old column and the block below it.
      (forall (?from - column)
        (when (inColumn ?b1 ?from) (not (inColumn ?b1 ?from))))
      (forall (?below - block)
        (when (on ?b1 ?below)
          (and (not (on ?b1 ?below)) (clear ?below)))))))
