; Things in containers that may be closed, so that a camera does not see what is in them. One hand.
(define (domain pantry)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    cupboard drawer - container
    container surface - place
    item place - object)

  (:constants table - surface)

  (:predicates
    (at ?i - item ?p - place)
    (isOpen ?c - container)
    (holding ?i - item)
    (handEmpty))

  (:action open
    :parameters (?c - container)
    :precondition (and (handEmpty) (not (isOpen ?c)))
    :effect (isOpen ?c))

  (:action close
    :parameters (?c - container)
    :precondition (and (handEmpty) (isOpen ?c))
    :effect (not (isOpen ?c)))

  (:action pick-up
    :parameters (?i - item)
    :precondition (and (handEmpty) (at ?i table))
    :effect (and (holding ?i) (not (handEmpty)) (not (at ?i table))))

  (:action take-out
    :parameters (?i - item ?c - container)
    :precondition (and (handEmpty) (isOpen ?c) (at ?i ?c))
    :effect (and (holding ?i) (not (handEmpty)) (not (at ?i ?c))))

  (:action put-down
    :parameters (?i - item)
    :precondition (holding ?i)
    :effect (and (at ?i table) (handEmpty) (not (holding ?i))))

  (:action put-in
    :parameters (?i - item ?c - container)
    :precondition (and (holding ?i) (isOpen ?c))
    :effect (and (at ?i ?c) (handEmpty) (not (holding ?i)))))
