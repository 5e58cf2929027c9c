; Household things on a table, which one hand puts in and on others, and a cabinet with drawers one
; above the other. A drawer must be open for something to be put into it or taken out, and no open
; drawer may hang over it.
(define (domain tabletop)
  (:requirements :strips :typing :negative-preconditions :disjunctive-preconditions :equality
                 :universal-preconditions :conditional-effects)

  ; Bowls and crates are containers that are always open; trays, plates and the table are surfaces.
  (:types
    thing container surface - object
    drawer - container)

  (:predicates
    (in ?t - thing ?c - container)
    (on ?t - thing ?s - surface)
    (open ?d - drawer)
    ; no open drawer hangs over it
    (clear ?d - drawer)
    (held ?t - thing)
    (handempty)
    ; the cabinet itself: ?upper is right above ?lower
    (over ?upper - drawer ?lower - drawer))

  (:action grasp
    :parameters (?t - thing)
    :precondition (and
      (handempty)
      (forall (?d - drawer) (or (not (in ?t ?d)) (and (open ?d) (clear ?d)))))
    :effect (and
      (held ?t)
      (not (handempty))
      (forall (?c - container) (when (in ?t ?c) (not (in ?t ?c))))
      (forall (?s - surface) (when (on ?t ?s) (not (on ?t ?s))))))

  (:action place-in
    :parameters (?t - thing ?c - container)
    :precondition (and
      (held ?t)
      (forall (?d - drawer) (or (not (= ?d ?c)) (and (open ?d) (clear ?d)))))
    :effect (and (in ?t ?c) (handempty) (not (held ?t))))

  (:action place-on
    :parameters (?t - thing ?s - surface)
    :precondition (held ?t)
    :effect (and (on ?t ?s) (handempty) (not (held ?t))))

  (:action open-drawer
    :parameters (?d - drawer)
    :precondition (and (handempty) (not (open ?d)))
    :effect (and
      (open ?d)
      (forall (?lower - drawer) (when (over ?d ?lower) (not (clear ?lower))))))

  (:action close-drawer
    :parameters (?d - drawer)
    :precondition (and (handempty) (open ?d))
    :effect (and
      (not (open ?d))
      (forall (?lower - drawer) (when (over ?d ?lower) (clear ?lower))))))
