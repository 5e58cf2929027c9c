; A robot with one arm in a home. It stands somewhere, has some things in reach, and holds one
; thing at most. What is in a closed container can be neither seen nor reached.
(define (domain household)
  (:requirements :strips :typing :negative-preconditions :disjunctive-preconditions :equality
                 :universal-preconditions :conditional-effects)

  ; A container has something that opens: cabinets, fridges, cartons, but doors and windows, too.
  ; Of type object itself: furniture and fixtures that do not open.
  (:types container movable - object)

  (:predicates
    ; the robot
    (reachable ?o - object)
    (holding ?m - movable)
    ; the home
    (open ?c - container)
    (ontop ?o - object ?below - object)
    (nextto ?o - object ?neighbour - object)
    (inside ?o - object ?c - container))

  ; What is taken leaves its place, and what was on it or next to it no longer is.
  (:action grasp
    :parameters (?m - movable)
    :precondition (and
      (reachable ?m)
      (forall (?any - movable) (not (holding ?any))))
    :effect (and
      (holding ?m)
      (forall (?o - object)
        (and
          (not (ontop ?m ?o)) (not (ontop ?o ?m))
          (not (nextto ?m ?o)) (not (nextto ?o ?m))))
      (forall (?c - container)
        (when (inside ?m ?c) (not (inside ?m ?c))))))

  (:action place-on
    :parameters (?m - movable ?o - object)
    :precondition (and (holding ?m) (reachable ?o) (not (= ?m ?o)))
    :effect (and (ontop ?m ?o) (not (holding ?m))))

  (:action place-next-to
    :parameters (?m - movable ?o - object)
    :precondition (and (holding ?m) (reachable ?o) (not (= ?m ?o)))
    :effect (and (nextto ?m ?o) (not (holding ?m))))

  (:action place-inside
    :parameters (?m - movable ?c - container)
    :precondition (and (holding ?m) (reachable ?c) (open ?c))
    :effect (and (inside ?m ?c) (not (holding ?m))))

  ; The arm that opens must be free. What is inside comes into reach ...
  (:action open-container
    :parameters (?c - container)
    :precondition (and
      (reachable ?c)
      (not (open ?c))
      (forall (?any - movable) (not (holding ?any))))
    :effect (and
      (open ?c)
      (forall (?o - object)
        (when (inside ?o ?c) (reachable ?o)))))

  ; ... and goes out of reach again.
  (:action close-container
    :parameters (?c - container)
    :precondition (and (reachable ?c) (open ?c))
    :effect (and
      (not (open ?c))
      (forall (?o - object)
        (when (inside ?o ?c) (not (reachable ?o))))))

  ; Only where it went can the robot reach: the thing itself, and what an open container holds.
  ; What it carries goes with it in its hand, but counts as out of reach, too.
  (:action navigate-to
    :parameters (?o - object)
    :precondition (and
      (not (reachable ?o))
      (forall (?c - container) (or (not (inside ?o ?c)) (open ?c))))
    :effect (and
      (reachable ?o)
      (forall (?other - object)
        (when (not (= ?other ?o)) (not (reachable ?other))))
      (forall (?c - container ?x - object)
        (when (and (= ?c ?o) (open ?c) (inside ?x ?c)) (reachable ?x))))))
