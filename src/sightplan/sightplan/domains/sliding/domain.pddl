; Pieces on a board of square cells: shapes, each of its own colour and form, or numbered tiles.
; The only skill pushes one piece into the next cell, which must be empty.
(define (domain sliding)
  (:requirements :strips :typing :negative-preconditions :equality
                 :existential-preconditions :universal-preconditions :conditional-effects)

  (:types
    piece cell direction - object
    cube sphere pyramid cylinder cone prism tile - piece)

  (:constants left right up down - direction)

  (:predicates
    (at ?p - piece ?c - cell)
    (empty ?c - cell)
    ; the board itself: ?to is the neighbour of ?from in a direction
    (next ?from - cell ?to - cell ?d - direction))

  (:action move
    :parameters (?p - piece ?d - direction)
    :precondition (exists (?from - cell ?to - cell)
      (and (at ?p ?from) (next ?from ?to ?d) (empty ?to)))
    :effect (forall (?from - cell ?to - cell)
      (when (and (at ?p ?from) (next ?from ?to ?d))
        (and (at ?p ?to) (not (empty ?to)) (not (at ?p ?from)) (empty ?from))))))
