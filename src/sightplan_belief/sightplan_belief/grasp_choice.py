"""Whether a thing may be grasped that is named, and what is like it where it may not.

Example::

    choice = choose_grasp('the blue mug', ask)
    if choice.region is None:
        print(choice.message)  # there is no blue mug; what is like it: a red mug (P = 0.93 at ...)

All that is known comes from a model that points: no truth, no list of what is there. A model is
asked for the thing itself; for the same thing in every other colour, where it is named by a
colour and the model cannot check a marked place (*colour contrast*); and, where it may not be
grasped, for things that are like it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sightplan.model import BackendError, DeadlineError, Form, Region, Target
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.region import LEAST_TO_ACT, box_iou
from sightplan.model.whereabouts import Whereabouts
from sightplan.queries.detect import COLOURS, SAME
from sightplan_belief.locate_picture import Found

_LOG = logging.getLogger(__name__)
NOT_FOUND = 'not_found'
"""Cause where the thing is not there, or something else is at its place."""
ABSTAINED = 'abstained'
"""Cause where it cannot be told whether the thing is there, or where it is."""

Ask = Callable[[Sequence[Target], PointerSettings | None], list[Found]]
"""Asks a model for targets in the present picture, all of one form; settings None: as usual."""

LIKE_KINDS = (
    ('mug', 'cup', 'glass'), ('bowl', 'plate', 'tray'), ('pan', 'pot'),
    ('kettle', 'teapot', 'jug'), ('bottle', 'can', 'jar'), ('knife', 'fork', 'spoon', 'spatula'),
    ('screwdriver', 'hammer', 'brush', 'scissors'), ('book', 'box', 'napkin'),
    ('crate', 'box', 'drawer', 'cabinet', 'chest'), ('banana', 'apple', 'ball', 'orange'),
    ('block', 'cube', 'box'))
"""Everyday words for things that look alike, or that serve the same purpose."""

_SPELLINGS = {'gray': 'grey', 'violet': 'purple'}
_BEGINS_MORE = re.compile(r'\b(that|which|whose|who|with|on|in|under|beside|behind|next|left|right'
                          r'|between|near|at|from)\b.*')
"""A further description of a thing, after its name."""
_USUAL = PointerSettings()
_CONTRAST = PointerSettings(max_askings=3, accept=1.0)
"""Settings for asking a model for a thing in each colour: always as often, for answers vary."""
_LIKE = PointerSettings(max_askings=3, accept=LEAST_TO_ACT, prior_present=0.5)
_EVEN = 0.5
_MOST_LIKE = 3
"""Most things that are named as being like one that is not there."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice of what to grasp, or the reason why nothing is.

    Attributes:
        found: what the model said about the thing.
        region: where to grasp it, with the probability that it exists and is there; None: nothing
            is to be grasped.
        present: probability that the thing exists, as the model tells it, or that it has the
            named colour, whichever is less; None where nobody offers one.
        colour: probability that what is there has the named colour (``with_contrast``); None where
            no other colour was asked for.
        cause: why nothing is grasped: ``NOT_FOUND`` or ``ABSTAINED``; '' where something is.
        message: the same in words.
        like: things that are there and like it, the most probable first.
    """

    found: Found
    region: Region | None = None
    present: float | None = None
    colour: float | None = None
    cause: str = ''
    message: str = ''
    like: tuple[Found, ...] = ()


def choose_grasp(target: str, ask: Ask, least: float = LEAST_TO_ACT) -> Choice:
    """Decide whether and where to grasp a thing that is named.

    Args:
        target: what to grasp, in words.
        ask: asks the model.
        least: probability that the thing exists and is at a place, from which on it is grasped.

    Raises:
        SightplanError: the model could not be asked.
    """
    found, = ask([Target(target)], None)
    choice = first_choice(found, least)
    if choice.region is not None and not found.checks and colour_in(target):
        choice = with_contrast(choice, in_all_colours(target, ask), least)
    if choice.region is not None:
        return choice
    try:
        return with_like(choice, things_like(target, ask, colours=not found.checks))
    except (BackendError, DeadlineError) as error:  # why it is not grasped is known all the same
        _LOG.warning('what is like %r is not known: %s', target, error)
        return choice


def first_choice(found: Found, least: float = LEAST_TO_ACT) -> Choice:
    """Decide by what a model said about the thing itself.

    Args:
        found: that.
        least: see ``choose_grasp``.
    """
    name, chance = found.target.text, found.probability
    where = found.whereabouts
    doubt = _doubt_about(found, least)
    if where is Whereabouts.HERE and not doubt:
        return Choice(found, replace(found.regions[0], probability=chance), found.present)
    if where is Whereabouts.NOT_HERE:
        sure = '' if chance is None else f' (P = {chance:.2f})'
        return Choice(found, present=found.present, cause=NOT_FOUND,
                      message=f'there is no {_bare(name)}{sure}')
    if where is Whereabouts.CANNOT_TELL:
        words = ', '.join(map(repr, filter(None, found.unknown)))
        reason = f'the model does not know {words}' if words else found.reason
        return Choice(found, present=found.present, cause=ABSTAINED,
                      message=f'it cannot be told whether there is {_some(name)}: {reason}')
    return Choice(found, present=found.present, cause=ABSTAINED,
                  message=f'it is not sure where {name} is: {doubt}; say where with --at to have '
                          'it grasped all the same')


def with_contrast(choice: Choice, shown: Sequence[Found], least: float = LEAST_TO_ACT) -> Choice:
    """Weigh the colour of a thing against all others that it may have.

    A thing has one colour. If the same place is pointed at for other colours, too, then by Bayes'
    rule the probability that it has the named one is ::

        p w / (p w + (1 - p) / n sum of w_i)

    with the prior p that the thing is there as it was named, the likelihood ratio w of what the
    model tells of its existence in the named colour, and that of each of the n other colours, w_i.

    Args:
        choice: the thing's place.
        shown: what the model said of the thing in each colour, the named one first.
        least: see ``choose_grasp``.
    """
    own, *others = shown
    region = choice.region
    if region is None or not own.regions:
        return replace(choice, region=None, colour=0.0, cause=ABSTAINED, message=(
            f'it is not sure where {choice.found.target.text} is: asked again, it is not found'))
    prior = _CONTRAST.prior_present
    there = [one for one in others if one.regions
             and _same_thing(one.regions[0], own.regions[0])]
    mine = prior * _ratio(own)
    theirs = (1 - prior) / len(others) * sum(_ratio(one) for one in there)
    share = mine / (mine + theirs)
    chance = (region.probability or 0.0) * share
    present = share if choice.present is None else min(choice.present, share)
    if chance >= least:
        return replace(choice, region=replace(region, probability=chance), present=present,
                       colour=share)
    found = choice.found
    other = f': it may as well be {max(there, key=_ratio).target.text}' if there else ''
    return replace(choice, region=None, present=present, colour=share,
                   cause=ABSTAINED if chance >= _EVEN else NOT_FOUND, message=(
                       f'it is not sure that it is {found.target.text} (P = {chance:.2f}){other}'))


def in_all_colours(target: str, ask: Ask) -> list[Found]:
    """Ask for a thing in each colour, the named one first, with boxes.

    Args:
        target: in words with a colour.
        ask: asks the model.
    """
    own = colour_in(target)
    return ask([Target(re.sub(rf'\b{own}\b', colour, target, flags=re.IGNORECASE), Form.BOX)
                for colour in (own, *_others(own))], _CONTRAST)


def things_like(target: str, ask: Ask, colours: bool = True) -> list[Found]:
    """Things that are there, as far as the model tells, and are like one that may not be.

    First the same kind in other colours; where there is none, kinds that are alike
    (``LIKE_KINDS``).

    Args:
        target: in words.
        ask: asks the model.
        colours: whether it is also asked which colour the same kind has: ten more targets.

    Returns:
        with boxes, the most probable first; at most ``_MOST_LIKE``.
    """
    kind = kind_of(target)
    own = colour_in(target)
    if own:
        same = _there(ask([Target(f'the {kind}', Form.BOX)], _LIKE))
        if same and colours:
            same = _apart(_there(ask([Target(f'the {colour} {kind}', Form.BOX)
                                      for colour in _others(own)], _LIKE))) or same
        if same:
            return same[:_MOST_LIKE]
    wanted = [Target(f'the {one}', Form.BOX) for one in kinds_like(kind)]
    return _apart(_there(ask(wanted, _LIKE)))[:_MOST_LIKE] if wanted else []


def with_like(choice: Choice, like: Sequence[Found]) -> Choice:
    """Say in the message what is like the thing."""
    if not like:
        return choice
    told = ', '.join(_told(one) for one in like)
    return replace(choice, like=tuple(like),
                   message=f'{choice.message}; what is like it: {told}')


def colour_in(target: str) -> str:
    """The colour word by which a thing is named; '' without one, and where there are several.

    "The orange" is a fruit.
    """
    words = [word for word in re.findall(r'[a-z]+', target.lower())
             if _SPELLINGS.get(word, word) in COLOURS]
    return words[0] if len(words) == 1 and kind_of(target) else ''


def kind_of(target: str) -> str:
    """The words for the kind of a thing: without article, colours and further descriptions."""
    words = re.findall(r'[a-z]+', _BEGINS_MORE.sub('', target.lower()))
    return ' '.join(word for word in words if _SPELLINGS.get(word, word) not in COLOURS
                    and word not in ('the', 'a', 'an', 'only', 'my', 'this', 'that'))


def kinds_like(kind: str) -> list[str]:
    """Other kinds that are like one."""
    name = kind.rpartition(' ')[2]
    return list(dict.fromkeys(other for kinds in LIKE_KINDS if name in kinds
                              for other in kinds if other != name))


def _doubt_about(found: Found, least: float) -> str:
    """Say why existence or place are not as sure as grasping needs; '' if they are."""
    if found.doubt:
        return found.doubt
    if found.probability is None or found.probability < least:
        return f'the probability is below {least:g}'
    if found.present is not None and found.present < LEAST_TO_ACT:
        return f'the probability that it exists is below {LEAST_TO_ACT:g}'
    return '' if found.sure else 'nobody called it sure'


def _others(colour: str) -> list[str]:
    return [one for one in COLOURS if one != _SPELLINGS.get(colour, colour)]


def _ratio(found: Found) -> float:
    """Likelihood ratio of what the model told about the existence of a thing in each colour."""
    if found.whereabouts is Whereabouts.CANNOT_TELL:
        return 1.0  # nothing was told
    prior = _CONTRAST.prior_present
    present = min(max(found.present or 0.0, 0.001), 0.999)
    return present / (1 - present) * (1 - prior) / prior


def _there(found: Sequence[Found]) -> list[Found]:
    """Return the found things that are there rather than not, the likeliest first."""
    here = [one for one in found if one.whereabouts is Whereabouts.HERE
            and (one.probability or 0.0) >= _USUAL.least]
    return sorted(here, key=lambda one: -(one.probability or 0.0))


def _apart(found: Sequence[Found]) -> list[Found]:
    """Return the found things without those at the place of an earlier one in the list."""
    kept: list[Found] = []
    for one in found:
        if not any(_same_thing(one.regions[0], other.regions[0]) for other in kept):
            kept.append(one)
    return kept


def _same_thing(one: Region, other: Region) -> bool:
    """Whether two boxes are of one thing, of which each may show a part only."""
    iou = box_iou(one, other)
    areas = [(right - left) * (bottom - top) for (left, top), (right, bottom) in (
        one.points, other.points)]
    return iou > 0.0 and iou / (1 + iou) * sum(areas) >= SAME * min(areas)


def _told(found: Found) -> str:
    x, y = found.regions[0].centre
    return f'{_some(found.target.text)} (P = {found.probability:.2f} at {x:.2f},{y:.2f})'


def _bare(text: str) -> str:
    return re.sub(r'^(the|an?)\s+', '', text.strip(), flags=re.IGNORECASE)


def _some(text: str) -> str:
    bare = _bare(text)
    return f'{"an" if re.match(r"(?!uni|use|eu|one)[aeiou]", bare.lower()) else "a"} {bare}'
