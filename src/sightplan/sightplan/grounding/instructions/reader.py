"""A reader of plain instructions about a table: from a text to wishes.

The text is normalised (``words``) and read into clauses (``clauses``) with noun phrases
(``phrases``); the clauses become wishes here. What pronouns, "the other", "the rest" and "there"
stand for is looked up among what was named before, and what is said of one drawer becomes one
stage. Which things in the picture are meant is found by ``instances``. All words stand in
``lexicon.yaml``. A text is refused if a word has no part in what was read, or if it leaves open
what goes where.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sightplan.grounding.instructions.clauses import BESIDE, INTO, OFF, ONTO, Clause, ClauseReader
from sightplan.grounding.instructions.ideas import read_ideas
from sightplan.grounding.instructions.phrases import (
    ONE,
    PENDING,
    Phrase,
    UnreadError,
    bound,
    filled,
    has_it,
    placed_in,
)
from sightplan.grounding.instructions.uses import usual_place
from sightplan.grounding.instructions.wishes import (
    Condition,
    Hold,
    Place,
    Relation,
    Things,
    Where,
    Wish,
)
from sightplan.grounding.instructions.words import SENTENCE_END, normalised
from sightplan.queries.detect import CABINET, DRAWER, DRAWERS, PLACES

LONGEST = 2000
"""Most characters of an instruction that is read."""

_TABLE = 'table'


def read_instruction(text: str) -> tuple[Wish, ...]:
    """Read the wishes of an instruction, stage by stage.

    Args:
        text: one or more sentences. What is said of one drawer in one sentence is a stage; what
            is said in another sentence comes later.

    Raises:
        UnreadError: the text is empty or too long, holds a word that has no part in what was
            read, or leaves open what is to be done.
    """
    if len(text) > LONGEST:
        raise UnreadError(
            f'the instruction has {len(text)} characters; at most {LONGEST} are read'
        )
    if not text.strip(' .!?\n'):
        raise UnreadError('the instruction is empty')
    try:
        wishes = _read_clauses(text)
    except UnreadError:
        if (found := read_ideas(text, _read_clauses)) is None:
            raise
        return found
    if any(things.by_use for wish in wishes for things, _ in wish.goods):
        return read_ideas(text, _read_clauses) or wishes
    return wishes


def _read_clauses(text: str) -> tuple[Wish, ...]:
    """Read the wishes of an instruction that names things and places."""
    reader = ClauseReader(normalised(text), text)
    try:
        wishes = _Interpreter(reader).wishes(reader.clauses())
    except UnreadError as error:
        raise (
            error if str(error).startswith('cannot read') else reader.unread(str(error))
        ) from None
    if not any(wish.goods or wish.drawer for wish in wishes):
        raise reader.unread('it does not tell what is to be done')
    return wishes


@dataclass(slots=True)
class _Act:
    """A clause with all its descriptions known.

    Attributes:
        goods: things with their places.
        drawer: of which ``closed`` is said.
        closed: how that is to be; None for a drawer that only receives things.
        by_verb: whether a verb, and no state, says how it is to be.
        kept: what is not to be moved.
        given: conditions.
        sentence: number of the sentence.
    """

    goods: list[tuple[Things, Place]] = field(default_factory=list)
    drawer: Things | None = None
    closed: bool | None = None
    by_verb: bool = False
    kept: tuple[Things, ...] = ()
    given: tuple[Condition, ...] = ()
    sentence: int = 0


class _Interpreter:
    """Turns clauses into wishes; keeps what was named before."""

    def __init__(self, reader: ClauseReader) -> None:
        self._reader = reader
        self._acts: list[_Act] = []
        self._objects: tuple[Things, ...] = ()
        self._holder: Things | None = None
        self._drawers: tuple[Things, ...] = ()
        self._kinds: tuple[tuple[str, ...], ...] = PENDING
        self._place_kinds: tuple[tuple[str, ...], ...] = PENDING
        self._last_place: Place | None = None
        self._named: list[Things] = []
        self._pending: tuple[Things, ...] = ()
        self._pending_said = ''
        self._heading = False
        self._given: tuple[Condition, ...] = ()
        self._hides = False
        self._ensuring = -1
        self._existing = False
        self._given_drawer: tuple[Things, bool] | None = None

    def wishes(self, clauses: Sequence[Clause]) -> tuple[Wish, ...]:
        """Return the wishes of all clauses, stage by stage.

        Raises:
            UnreadError: a clause leaves open what is to be done; says why.
        """
        clauses = _merged_takes(clauses)
        sentence = 0
        following = iter(clauses[1:])
        for clause in clauses:
            if clause.sentence != sentence and not clause.given:
                self._given = (
                    self._given
                    if any(
                        one.given == 'else' and one.sentence >= clause.sentence for one in clauses
                    )
                    else ()
                )
            sentence = clause.sentence
            self._clause(clause, next(following, None))
        if self._pending:
            raise self._unread(
                f'it does not tell where things are to go ({self._pending_said})'
            )
        return _staged(self._acts)

    def _unread(self, why: str) -> UnreadError:
        return self._reader.unread(why)

    # --- one clause ------------------------------------------------------------------------------

    def _is_remark(self, clause: Clause, after: Clause | None) -> bool:
        """Whether "the drawer is open" only names it for the next clause: "close it"."""
        return bool(
            clause.state
            and not clause.negated
            and not clause.placed
            and after is not None
            and len(clause.objects) == 1
            and clause.objects[0].head == DRAWER
            and (
                after.there
                or (
                    after.verb in ('open', 'close')
                    and all(one.head in ('it', DRAWER) for one in after.objects)
                )
            )
        )

    def _clause(self, clause: Clause, after: Clause | None = None) -> None:
        if clause.given == 'if':
            self._condition(clause)
            return
        if clause.given == 'else':
            self._given = tuple(replace(one, seen=not one.seen) for one in self._given)
        if (
            clause.heads
            and clause.objects
            and not self._objects
            and all(phrase.head == 'them' for phrase in clause.objects)
        ):
            return  # "sort these two: ..."
        if clause.wanted:
            self._ensuring = clause.sentence
        if clause.says_is and (
            self._reader.states_goal
            or (self._ensuring == clause.sentence and clause.joined in ('and', ','))
        ):
            clause.says_is = False
        if clause.says_is and self._is_remark(clause, after):
            self._drawers = self._drawers_of(clause, clause.state == 'closed')
            self._holder, self._place_kinds = self._drawers[-1], (DRAWERS,)
            return
        if clause.says_is:
            raise self._unread(f'{self._said(clause)!r} only says how something is')
        if clause.verb in ('open', 'close'):
            self._opens_or_closes(clause)
        elif clause.state and clause.verb == 'stay' and not clause.negated:
            self._leaves_state(clause)
        elif (
            clause.verb in ('touch', 'stay')
            or (
                clause.verb == 'keep'
                and (clause.left_alone or clause.there or not (clause.placed or clause.state))
            )
            or (clause.left_alone)
        ):
            self._keeps(clause)
        elif clause.state:
            self._leaves_state(clause)
        elif clause.verb == 'do':
            self._will_do(clause)
        elif clause.negated:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        elif clause.verb == 'mention' or (
            clause.verb in ('want', 'ensure') and not clause.objects and not clause.placed
        ):
            self._mentions(clause)
        else:
            self._carries(clause)

    def _said(self, clause: Clause) -> str:
        return self._reader._phrases.said(clause.start, clause.end)

    def _add(self, act: _Act, clause: Clause) -> None:
        act.given, act.sentence = self._given, clause.sentence
        self._acts.append(act)

    # --- drawers ---------------------------------------------------------------------------------

    def _opens_or_closes(self, clause: Clause) -> None:
        closed = clause.verb == 'close'
        if clause.negated:
            if not closed:
                raise self._unread(f'it does not know {self._said(clause)!r}')
            closed = False
        if (clause.placed and clause.placed[0][0] != BESIDE) or clause.but:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        self._set(clause, self._drawers_of(clause, closed), closed, not clause.negated)

    def _leaves_state(self, clause: Clause) -> None:
        if clause.negated and clause.verb == 'keep':
            closed = clause.state != 'closed'
        elif clause.negated:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        else:
            closed = clause.state == 'closed'
        if clause.placed:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        self._set(clause, self._drawers_of(clause, closed), closed, False)

    def _set(self, clause: Clause, drawers: Sequence[Things], closed: bool, by_verb: bool) -> None:
        told = self._given_drawer
        if (
            told is not None
            and len(drawers) == 1
            and drawers[0].kinds == told[0].kinds
            and (closed is told[1])
        ):
            self._given, self._given_drawer = (), None  # "if it is open, close it"
            by_verb = False
        if not by_verb and any(
            act.by_verb
            and act.sentence == clause.sentence
            and act.drawer in drawers
            and act.closed
            and not closed
            for act in self._acts
        ):
            raise self._unread('it tells both that the drawer is to be open and closed')
        for drawer in drawers:
            act = _Act(drawer=drawer, closed=closed, by_verb=by_verb and len(drawers) == 1)
            self._add(act, clause)
        self._drawers = tuple(drawers)
        if len(drawers) == 1:
            self._holder = drawers[0]
            self._place_kinds = (DRAWERS,)

    def _drawers_of(self, clause: Clause, closed: bool) -> tuple[Things, ...]:
        """Return the drawers that are opened or closed."""
        found: list[Things] = []
        if not clause.objects:
            if self._drawers:
                return self._drawers
            raise self._unread(f'it does not tell what {self._said(clause)!r} is about')
        for phrase in clause.objects:
            things = phrase.things
            if phrase.head == DRAWER:
                found += self._drawer(phrase)
            elif phrase.head in ('it', 'them'):
                several = phrase.head == 'them' or things.number == 2
                if several and len(self._all_drawers()) > 1:
                    found += self._all_drawers()[-2:]
                elif several and phrase.only_count:
                    found += _both()
                elif self._drawers:
                    found += self._drawers[-1:] if not several else self._drawers
                else:
                    raise self._unread(f'it does not tell what {things.said!r} is')
            elif (
                phrase.head == ''
                and things.kinds in ((), ((CABINET,),))
                and (things.plural or things.kinds)
            ):
                if not closed:
                    raise self._unread('it does not tell which drawer is to be open')
                found += _both()
            elif phrase.head == ONE and self._place_kinds == (DRAWERS,) and not things.colours:
                found += [replace(things, kinds=(DRAWERS,))]
            elif phrase.head == 'rest' and self._drawers:
                found += [_other(self._drawers[-1])]
            else:
                raise self._unread(
                    f'nothing but drawers opens and closes, and not {things.said!r}'
                )
        return tuple(found)

    def _all_drawers(self) -> list[Things]:
        found: list[Things] = []
        for act in self._acts:
            for one in [act.drawer, *(place.of for _, place in act.goods)]:
                if (
                    one is not None
                    and _is_drawer(one)
                    and all(one.kinds != other.kinds for other in found)
                ):
                    found.append(one)
        return found

    def _drawer(self, phrase: Phrase) -> tuple[Things, ...]:
        """Return the drawers that a phrase with that noun means."""
        things = phrase.things
        if things.rest:
            if not self._drawers:
                raise self._unread('it does not tell which drawer the other one is')
            return (_other(self._drawers[-1]),)
        if things.plural:
            return _both()
        if phrase.bare and self._drawers:
            return self._drawers[-1:]
        return (things,)

    # --- what stays ------------------------------------------------------------------------------

    def _keeps(self, clause: Clause) -> None:
        if clause.verb == 'touch' and not clause.negated:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        if clause.verb in ('keep', 'stay') and clause.negated and not clause.left_alone:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        if not clause.objects:
            raise self._unread(f'it does not tell what {self._said(clause)!r} is about')
        if clause.there or any(kind not in (BESIDE, OFF) for kind, _, _ in clause.placed):
            raise self._unread(f'it does not know {self._said(clause)!r}')
        if clause.gone:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        if any(phrase.head == DRAWER for phrase in clause.objects):
            if len(clause.objects) > 1 or not (clause.left_alone or clause.verb == 'touch'):
                raise self._unread(f'it does not know {self._said(clause)!r}')
            return
        if any(phrase.head in ('it', 'them') for phrase in clause.objects) and self._pending:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        kept = self._with_modifiers(clause, self._things(clause), len(clause.placed))
        self._add(_Act(kept=kept), clause)

    # --- what is carried -------------------------------------------------------------------------

    def _mentions(self, clause: Clause) -> None:
        if not clause.objects:
            if clause.verb == 'mention':
                raise self._unread(f'it does not know {self._said(clause)!r}')
            raise self._unread(f'it does not tell what {self._said(clause)!r} is about')
        things = self._with_modifiers(clause, self._things(clause), len(clause.placed))
        self._remember(things, clause)
        self._wait(things, clause)

    def _wait(self, things: tuple[Things, ...], clause: Clause) -> None:
        """Remember things of which a later clause must tell where they go."""
        self._pending = things
        self._pending_said = repr(clause.objects[0].things.said) if clause.objects else 'they'
        self._heading = clause.verb == 'tidy' or clause.heads
        self._existing = clause.verb == 'mention'

    def _will_do(self, clause: Clause) -> None:
        if not self._pending or len(clause.objects) != 1 or clause.placed:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        place = self._place_from('to', clause.objects[0], self._pending)
        self._carry(self._pending, place, clause)

    def _carries(self, clause: Clause) -> None:
        """Read a clause that says where things are to be, or which things it will be about."""
        if any(phrase.head == _TABLE for phrase in clause.objects) or (
            clause.verb == 'tidy' and not clause.objects and not clause.placed
        ):
            self._clears(clause)
            return
        at = self._destination(clause)
        if clause.there and [phrase.head for phrase in clause.objects] == [DRAWER]:
            self._set(clause, self._drawers_of(clause, True), True, True)  # "push the drawer in"
            return
        if (
            clause.verb == 'take'
            and self._said(clause).startswith('pull')
            and not clause.placed
            and ({phrase.head for phrase in clause.objects} == {DRAWER})
        ):
            self._set(clause, self._drawers_of(clause, False), False, True)
            return
        if clause.verb == 'fill' and any(_is_holder(phrase.things) for phrase in clause.objects):
            raise self._unread(f'it does not tell what {self._said(clause)!r} is about')
        if clause.verb == 'tidy' and any(_is_holder(phrase.things) for phrase in clause.objects):
            raise self._unread(f'it does not tell what is taken out: {self._said(clause)!r}')
        if clause.there and clause.verb == 'take':
            raise self._unread(f'it does not tell where {self._said(clause)!r} takes things')
        if at is None and not clause.there:
            self._without_place(clause)
            return
        things = self._moved(clause)
        if at is not None:
            things = self._with_modifiers(clause, things, at)
            things = self._without(clause, things)
            kind, relation, phrase = clause.placed[at]
            of = self._of_place(clause, at)
            place = self._place_from(kind, replace(phrase, things=of), things, relation)
        else:
            things = self._with_modifiers(clause, things, len(clause.placed))
            things = self._without(clause, things)
            anchors = [one for thing in things for where in thing.where for one in where.anchors]
            known = self._last_place_or_holder()
            if known is None and len(anchors) == 1:
                known = Place(_hold(anchors[0]), anchors[0])
            if known is None:
                raise self._unread(f'it does not tell where {self._said(clause)!r} is')
            place = known
        self._hides = clause.hides
        if clause.joined == 'but':
            self._leave_out(things)
        self._carry(things, place, clause)

    def _last_place_or_holder(self) -> Place | None:
        if self._drawers and self._holder is not None and _is_drawer(self._holder):
            return Place(Hold.IN, self._holder)
        if self._holder is not None:
            return Place(_hold(self._holder), self._holder)
        return None

    def _leave_out(self, things: tuple[Things, ...]) -> None:
        """Leave out of what goes before what is said of it after "but"."""
        last = self._acts[-1] if self._acts else None
        if last is None or len(last.goods) != 1 or not last.goods[0][0].plural or len(things) > 1:
            return
        before, place = last.goods[0]
        if before.kinds == things[0].kinds and not before.number:
            last.goods[0] = replace(before, but=(*before.but, things[0]), total=None), place

    def _carry(self, things: tuple[Things, ...], place: Place, clause: Clause) -> None:
        named = self._existing and {one.kinds for one in things} <= {
            one.kinds for one in self._pending
        }
        if (
            self._pending
            and not self._heading
            and not named
            and not (set(things) & set(self._pending))
        ):
            raise self._unread(f'it does not tell where things are to go ({self._pending_said})')
        self._pending, self._heading = (), False
        act = _Act([(one, place) for one in things])
        if _is_drawer(place.of):
            act.drawer = place.of
            act.closed = True if clause.hides or self._hides else None
            self._drawers = (place.of,)
        self._hides = False
        self._add(act, clause)
        self._remember(things, clause)
        self._holder, self._last_place = place.of, place
        self._place_kinds = (DRAWERS,) if _is_drawer(place.of) else place.of.kinds

    def _clears(self, clause: Clause) -> None:
        """Read "clear the table", which is a heading unless it says where to."""
        at = self._destination(clause)
        if (
            at is not None
            and clause.placed[at][2].head != _TABLE
            and clause.verb == 'tidy'
            and (len(clause.objects) <= 1)
        ):
            kind, relation, phrase = clause.placed[at]
            things: tuple[Things, ...] = (
                Things(
                    plural=True, mention=self._reader._phrases.next_mention(), said='everything'
                ),
            )
            things = self._without(clause, things)
            self._carry(things, self._place_from(kind, phrase, things, relation), clause)
            return
        if clause.verb != 'tidy' or clause.but or len(clause.objects) > 1:
            raise self._unread(f'it does not know {self._said(clause)!r}')
        self._pending = (
            Things(plural=True, mention=self._reader._phrases.next_mention(), said='everything'),
        )
        self._pending_said, self._heading = repr(self._said(clause)), True

    def _without_place(self, clause: Clause) -> None:
        """Read a clause that names things and no place for them."""
        if not clause.objects:
            raise self._unread(f'it does not tell what {self._said(clause)!r} is about')
        places = [
            phrase
            for phrase in clause.objects
            if phrase.head == DRAWER
            or (
                phrase.head == ''
                and phrase.things.kinds
                and all(one in (*PLACES, CABINET) for one in phrase.things.kinds[0])
            )
        ]
        if places and self._pending and clause.verb == '' and len(clause.objects) == 1:
            self._will_do(clause)
            return
        if clause.verb in ('open', 'close'):
            raise self._unread(f'it does not know {self._said(clause)!r}')
        things = self._moved(clause)
        things = self._with_modifiers(clause, things, len(clause.placed))
        things = self._without(clause, things)
        if (
            clause.verb == 'want'
            and len(things) == 1
            and things[0].where
            and (things[0].where[-1].relation is Relation.INSIDE)
        ):  # "to see it lying in the drawer"
            where = things[0].where[-1].anchors[0]
            things = (replace(things[0], where=things[0].where[:-1]),)
            self._carry(things, Place(_hold(where), where), clause)
            return
        if all(one.by_use for one in things) and (kinds := self._usual_place(clause)):
            of = Things(
                tuple((kind,) for kind in kinds),
                number=1,
                total=None,
                mention=self._reader._phrases.next_mention(),
                said=kinds[0],
            )
            self._hides = _is_drawer(of)
            self._carry(
                things, Place(_hold(of), of, serves=not _is_drawer(of)), clause)
            return
        repeated = self._last_place if self._pending == () else None
        if (
            clause.gone
            and any(word in clause.gone for word in ('away', 'sight'))
            and (clause.hides)
        ):
            raise self._unread(f'it does not tell where {clause.gone!r} is')
        if (
            repeated is not None
            and (
                clause.verb == 'use'
                or clause.inherits
                or (clause.verb == '' and clause.joined in ('and', 'but'))
            )
            and not clause.gone
        ):
            if places and not clause.verb and not clause.inherits:
                raise self._unread(f'it does not tell whether {self._said(clause)!r} is one more '
                                   'place or goes there, too')
            self._carry(things, repeated, clause)
            return
        if (
            clause.verb == ''
            and clause.sentence
            and not self._heading
            and clause.objects[-1].only_count
            and self._acts
        ):
            self._counts_again(clause)
            return
        if clause.verb in ('use', 'go') or (
            clause.verb == '' and clause.joined != SENTENCE_END and clause.joined
        ):
            raise self._unread(f'it does not tell what {self._said(clause)!r} is to do')
        self._remember(things, clause)
        self._wait(things, clause)

    def _usual_place(self, clause: Clause) -> tuple[str, ...]:
        """Return the kinds of places to which a clause brings things told by use."""
        if clause.hides:
            return usual_place('hide')
        if clause.gone:
            return usual_place('off')
        said = self._said(clause).split()
        return next((kinds for word in said if (kinds := usual_place(word))), ())

    def _counts_again(self, clause: Clause) -> None:
        """Read "Both of them." after a sentence about things."""
        number = clause.objects[-1].things.number
        last = self._acts[-1]
        if len(last.goods) != 1 or number is None:
            raise self._unread(f'it does not see what {self._said(clause)!r} is about')
        things, place = last.goods[0]
        if things.number not in (None, number) or things.any_of:
            raise self._unread(f'it does not see what {self._said(clause)!r} is about')
        last.goods[0] = (
            replace(
                things,
                number=number,
                plural=True,
                total=number if not things.where and not things.rest else things.total,
            ),
            place,
        )

    # --- descriptions ----------------------------------------------------------------------------

    def _moved(self, clause: Clause) -> tuple[Things, ...]:
        """Return what a clause moves."""
        if not clause.objects:
            if self._pending:
                return self._pending
            if self._objects and clause.verb in ('put', 'hide', 'take', 'bring', 'tidy'):
                return self._objects
            raise self._unread(f'it does not tell what goes where {self._said(clause)!r} is')
        if any(phrase.head == DRAWER for phrase in clause.objects):
            raise self._unread('a drawer cannot be moved')
        return self._things(clause)

    def _things(self, clause: Clause) -> tuple[Things, ...]:
        """Return the descriptions of a clause's objects, with pronouns replaced."""
        found: list[Things] = []
        kinds = self._kinds
        for number, phrase in enumerate(clause.objects):
            after = [
                one.things.kinds
                for one in clause.objects[number + 1 :]
                if one.head == '' and one.things.kinds
            ]
            shared = after and phrase.head == ONE and ' one' not in f' {phrase.things.said}'
            meant = self._known(phrase, after[0] if shared else kinds)
            found += [bound(one, self._antecedent(found)) if has_it(one) else one for one in meant]
            if phrase.head == '' and phrase.things.kinds:
                kinds = phrase.things.kinds
        return tuple(found)

    def _antecedent(self, found: Sequence[Things]) -> Things:
        """Return what "it" in "the one behind it" stands for.

        Raises:
            UnreadError: it is not one thing.
        """
        if found:
            return found[-1]
        if len(self._objects) == 1 and not self._objects[0].plural:
            return self._objects[0]
        raise self._unread("it does not tell what 'it' is")

    def _known(self, phrase: Phrase, kinds: tuple[tuple[str, ...], ...]) -> tuple[Things, ...]:
        """Return the description of a phrase, or those that a pronoun stands for."""
        things = phrase.things
        if phrase.head == 'it':
            if len(self._objects) == 1 and not (self._objects[0].plural):
                return self._objects
            if (
                self._objects
                and all(not one.plural for one in self._objects)
                and (len(self._objects) > 1)
            ):
                raise self._unread(f'it does not tell which of several {things.said!r} is')
            if (
                self._objects
                and self._pending
                and (self._objects[0].kinds != () or 'everything' in self._objects[0].said)
            ):
                return self._objects
            raise self._unread(f'it does not tell what {things.said!r} is')
        if phrase.head == 'them':
            if not self._objects:
                raise self._unread(f'it does not tell what {things.said!r} are')
            if (
                len(self._objects) == 1
                and not self._objects[0].plural
                and not (self._objects[0].any_of)
            ):
                before = [one for one in self._named if one is not self._objects[0]]
                if before and len(before) == 1:
                    return (*before, *self._objects)
                raise self._unread(f'it does not tell what {things.said!r} are')
            return self._objects
        if phrase.head == 'rest':
            return (
                filled(
                    replace(
                        things,
                        kinds=self._kinds if self._kinds != PENDING else (),
                        like=self._like(),
                    ),
                    self._kinds,
                ),
            )
        if phrase.head == ONE:
            known = kinds if kinds != PENDING else self._kinds
            if phrase.pointed and not (
                things.colours or things.where or things.rest or things.without
            ):
                raise self._unread(f'it does not tell which {things.said!r} is')
            if not things.colours and not things.without:
                things = replace(things, like=self._like())
            return (filled(things, known if known != PENDING else ()),)
        if phrase.head == _TABLE:
            raise self._unread('the table cannot be moved')
        if (
            phrase.bare
            and not things.plural
            and not things.any_of
            and not things.rest
            and (things.number == 1)
        ):
            for one in reversed(self._named):
                if one.kinds == things.kinds and not one.plural:
                    return (one,)
        if phrase.pointed and phrase.bare:
            for one in reversed(self._named):
                if one.kinds == things.kinds and one.plural == things.plural:
                    return (one,)
        return (filled(things, things.kinds),)

    def _like(self) -> tuple[str, ...]:
        """Return the colours of the last description of things: "the other" may be of these."""
        return self._objects[-1].colours if self._objects else ()

    def _remember(self, things: Sequence[Things], clause: Clause) -> None:
        self._objects = tuple(things)
        for one in things:
            for anchor in [anchor for where in one.where for anchor in where.anchors]:
                self._named.append(anchor)
                if anchor.kinds and all(kind in PLACES for kind in anchor.kinds[0]):
                    self._holder = self._holder if self._last_place else anchor
            self._named.append(one)
            if one.kinds and one.kinds != PENDING:
                self._kinds = one.kinds
                if all(kind in PLACES for kind in one.kinds[0]) and self._last_place is None:
                    self._holder = one

    def _with_modifiers(
        self, clause: Clause, things: tuple[Things, ...], before: int
    ) -> tuple[Things, ...]:
        """Return descriptions with what prepositions before the place tell of the last of them."""
        for kind, relation, phrase in clause.placed[:before]:
            if not things:
                return things
            things = (*things[:-1], self._modified(things[-1], kind, relation, phrase))
        return things

    def _modified(
        self, things: Things, kind: str, relation: Relation | None, phrase: Phrase
    ) -> Things:
        """Return a description with one more condition, such as "next to the bowl"."""
        if phrase.head == _TABLE:
            return things
        if phrase.head in ('it', 'them'):
            if self._last_place_or_holder() is None:
                raise self._unread(f'it does not tell what {phrase.things.said!r} is')
            anchor = self._last_place_or_holder().of  # type: ignore[union-attr]
        elif phrase.head == DRAWER:
            anchor = self._drawer(phrase)[0]
        else:
            anchor = self._known(phrase, things.kinds)[0]
        if relation is None:
            anchor = replace(anchor, kinds=phrase.as_place or anchor.kinds)
            relation = Relation.INSIDE
        total = None if things.total == (things.number or 1) else things.total
        return replace(
            things, where=(*things.where, Where(relation, (anchor,))), any_of=False, total=total
        )

    def _without(self, clause: Clause, things: tuple[Things, ...]) -> tuple[Things, ...]:
        """Return descriptions without what the clause leaves out."""
        if not clause.but:
            return things
        last = things[-1]
        if (
            not last.plural
            and last.colours
            and all(
                phrase.things.colours and not {*phrase.things.colours} & {*last.colours}
                for phrase in clause.but
            )
        ):
            return things  # "the brown one, not the green one"
        if not last.plural:
            raise self._unread(f'{clause.but[0].things.said!r} is left out of one thing')
        if any(phrase.head in ('it', 'them', 'rest', DRAWER, _TABLE) for phrase in clause.but):
            raise self._unread(f'it does not know {self._said(clause)!r}')
        but = tuple(self._known(phrase, last.kinds)[0] for phrase in clause.but)
        return (*things[:-1], replace(last, but=(*last.but, *but), number=None, total=None))

    # --- places ----------------------------------------------------------------------------------

    def _destination(self, clause: Clause) -> int | None:
        """Return which of a clause's prepositions tells where things go; None if none does."""
        if not clause.placed:
            return None
        containing = [
            k
            for k, (kind, _, phrase) in enumerate(clause.placed)
            if kind not in (BESIDE, OFF)
            and phrase.head != _TABLE
            and not (clause.verb == 'take' and clause.weak[k])
        ]
        if containing:
            return containing[-1]
        if clause.there or (clause.verb in ('take', 'mention') and clause.verb == 'mention'):
            return None
        beside = [k for k, (kind, relation, _) in enumerate(clause.placed) if kind == BESIDE]
        if beside and clause.verb not in ('mention', 'tidy'):
            return beside[-1]
        tables = [
            k
            for k, (kind, _, phrase) in enumerate(clause.placed)
            if phrase.head == _TABLE and kind != OFF
        ]
        return tables[-1] if tables and clause.verb not in ('mention', 'want', 'ensure') else None

    def _of_place(self, clause: Clause, at: int) -> Things:
        """Return the description of a place, with what later prepositions tell of it."""
        things = clause.placed[at][2].things
        for kind, relation, phrase in clause.placed[at + 1 :]:
            if phrase.head == _TABLE and kind != OFF:
                continue
            if kind == OFF:
                raise self._unread(f'it does not know {self._said(clause)!r}')
            things = self._modified(things, kind, relation, phrase)
        return things

    def _place_from(
        self, kind: str, phrase: Phrase, things: Sequence[Things], relation: Relation | None = None
    ) -> Place:
        """Return the place that a preposition and a phrase name."""
        if phrase.head == _TABLE:
            raise self._unread('it puts nothing on the bare table')
        if kind == BESIDE:
            if relation is not Relation.NEAR and relation is not Relation.NEAREST:
                raise self._unread(
                    f'it puts nothing {relation or kind} a thing, only in, on or next to it'
                )
            if phrase.head == DRAWER:
                raise self._unread('it puts nothing next to a drawer')
            if phrase.head == 'rest':
                phrase = replace(phrase, head=ONE, things=replace(phrase.things, kinds=PENDING))
            of = self._known(phrase, things[-1].kinds)[0]
            if of.rest and of.kinds == things[-1].kinds:
                of = replace(of, like=things[-1].colours)
            return Place(Hold.BESIDE, of)
        if phrase.head in ('it', 'them'):
            place = self._last_place_or_holder()
            named = [one for one in self._named if one not in things]
            anchors = [anchor for one in things for where in one.where for anchor in where.anchors]
            if place is None and phrase.head == 'it' and len(anchors) == 1:
                of = anchors[0]
                return Place(Hold.IN if kind == INTO else Hold.ON, of)
            if place is None and phrase.head == 'it' and named:
                return Place(Hold.IN if kind == INTO else Hold.ON, named[-1])
            if place is None:
                raise self._unread(f'it does not tell what {phrase.things.said!r} is')
            return place
        if phrase.head == DRAWER:
            found = self._drawer(phrase)
            if len(found) > 1:
                raise self._unread('it does not tell what goes to which of the drawers')
            if kind == ONTO and not phrase.things.said.startswith(('top', 'bottom', 'the top')):
                raise self._unread('nothing is put on a drawer')
            return Place(Hold.IN, found[0])
        if phrase.head == 'rest' and (phrase.things.plural or phrase.things.rest != 'others'):
            raise self._unread(f'it does not tell which place {phrase.things.said!r} is')
        if phrase.head in (ONE, 'rest'):
            kinds = self._place_kinds
            if kinds == PENDING:
                kinds = things[-1].kinds or (PLACES,)
            if kinds == (DRAWERS,):
                if phrase.things.rest and self._drawers:
                    return Place(Hold.IN, _other(self._drawers[-1]))
                raise self._unread(f'it does not tell which drawer {phrase.things.said!r} is')
            of = filled(replace(phrase.things, kinds=PENDING), kinds)
            if of.rest and kinds == things[-1].kinds:
                of = replace(of, like=things[-1].colours)
            return Place(Hold.IN if kind == INTO else Hold.ON, of)
        of = placed_in(phrase)
        if phrase.things.kinds == ():
            of = replace(of, kinds=(PLACES,))
        if of.kinds == ((CABINET,),) and kind == INTO:
            raise self._unread('it does not tell which drawer of the cabinet')
        if of.plural or (of.any_of and of.number != 1):
            raise self._unread(f'it does not tell which of several places {of.said!r} is')
        if of.kinds != ((CABINET,),):
            known = self._known(replace(phrase, things=of), of.kinds)
            of = known[0]
        if has_it(of):
            of = bound(of, things[-1])
        hold = Hold.IN if kind == INTO else Hold.ON if kind == ONTO else _hold(of)
        return Place(hold, of)

    # --- conditions ------------------------------------------------------------------------------

    def _condition(self, clause: Clause) -> None:
        phrase = clause.objects[0]
        if phrase.head == DRAWER:
            if not clause.state:
                raise self._unread(f'it does not know the condition {self._said(clause)!r}')
            (drawer,) = self._drawer(phrase) if not phrase.things.plural else (None,)
            if drawer is None:
                raise self._unread(f'it does not know the condition {self._said(clause)!r}')
            self._drawers = (drawer,)
            self._holder, self._place_kinds = drawer, (DRAWERS,)
            if clause.state == 'empty':
                self._given = (Condition(drawer, not clause.negated, empty=True),)
                self._given_drawer = None
                return
            opened = (clause.state == 'open') is not clause.negated
            self._given = (Condition(replace(drawer, opened=opened)),)
            self._given_drawer = drawer, opened
            return
        if clause.state or phrase.head:
            raise self._unread(f'it does not know the condition {self._said(clause)!r}')
        things = replace(self._known(phrase, self._kinds)[0], total=None)
        self._given = (Condition(things, not clause.negated),)
        self._objects = (replace(things, any_of=things.any_of),)
        self._kinds = things.kinds
        self._named.append(self._objects[0])


def _merged_takes(clauses: Sequence[Clause]) -> list[Clause]:
    """Return clauses in which "take X on Y and put it on Z" has no place in its first part."""
    found = list(clauses)
    for one, after in itertools.pairwise(found):
        if (
            one.verb in ('take', 'bring', 'mention')
            and one.placed
            and after.verb in ('put', 'hide', 'take', 'bring', 'tidy', 'go')
            and (not after.objects or after.objects[0].head in ('it', 'them'))
            and (after.placed or after.there)
        ):
            one.verb = 'mention'
    return found


def _staged(acts: Sequence[_Act]) -> tuple[Wish, ...]:
    """Return acts as stages: what one sentence says of one drawer, or without any, is one."""
    wishes: list[Wish] = []
    groups: list[list[_Act]] = []
    for act in acts:
        last = groups[-1] if groups else []
        if last and _joins(last, act):
            last.append(act)
        else:
            groups.append([act])
    for group in groups:
        goods = tuple(pair for act in group for pair in act.goods)
        drawer = next((act.drawer for act in group if act.drawer is not None), None)
        said = [act.closed for act in group if act.closed is not None]
        first = group[0]
        was_open = None
        if drawer is not None:
            if drawer.opened is not None:
                was_open = drawer.opened
            elif first.by_verb and (not first.closed or (len(group) == 1 and not goods)):
                was_open = first.closed
        wishes.append(
            Wish(
                goods,
                drawer,
                said[-1] if said else None,
                was_open,
                tuple(one for act in group for one in act.kept),
                first.given,
                first.sentence,
            )
        )
    return tuple(wishes)


def _joins(group: Sequence[_Act], act: _Act) -> bool:
    """Whether an act belongs to the stage of those before it."""
    last = group[-1]
    if act.sentence != last.sentence or act.given != last.given or act.kept or last.kept:
        return False
    drawers = {one.drawer.kinds for one in group if one.drawer is not None}
    if act.drawer is None:
        return not drawers
    if not drawers:
        return False
    said = [one.closed for one in group if one.closed is not None]
    if act.closed is False and said and said[-1]:
        return False
    closed_before = said and said[-1] is True and bool(act.goods)
    return drawers == {act.drawer.kinds} and not closed_before


def _is_drawer(things: Things) -> bool:
    return bool(things.kinds) and all(kind in DRAWERS for kind in things.kinds[0])


def _is_holder(things: Things) -> bool:
    """Whether a description means what holds others: a tray, plate, bowl, crate or cabinet."""
    return bool(things.kinds) and things.kinds[0][0] in (*PLACES, CABINET)


def _hold(of: Things) -> Hold:
    inside = _is_drawer(of) or (of.kinds and of.kinds[0][0] in ('bowl', 'crate', 'cup', 'mug'))
    return Hold.IN if inside else Hold.ON


def _both() -> tuple[Things, ...]:
    return tuple(
        Things(((one,),), number=1, total=None, said=f'{one.partition(":")[2]} drawer')
        for one in DRAWERS
    )


def _other(drawer: Things) -> Things:
    """Return the other of two drawers.

    Raises:
        UnreadError: it is not told which the first one is.
    """
    if len(drawer.kinds[0]) != 1:
        raise UnreadError('it does not tell which drawer the other one is')
    (level,) = (one for one in DRAWERS if one != drawer.kinds[0][0])
    return replace(drawer, kinds=((level,),), opened=None)


__all__ = ['LONGEST', 'ONTO', 'SENTENCE_END', 'UnreadError', 'read_instruction']
