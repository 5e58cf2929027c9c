"""Measures of answers about paths.

``solved`` is the paper's accuracy: its strict reading, in which a reply that is not exactly in the
form counts as wrong. ``solved_lenient`` reads any reply that names one of the two. How often the
first path is named (``first``) shows a preference for a place or a name: where the better path is
as often first as second, a model without one names each in half of its replies.

The seven answers of the variant ``perception`` are right or wrong each (``perceived``; in a line
``lower_...``). Of two paths with the same value none is the lower one: that answer is left out.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sightplan.metrics.measures import FRACTION, SHARE, Measure, aggregate, aggregates, grouped
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs.suite_parts import Scored
from sightplan_suites.patheval.items import LARGE, LEVELS
from sightplan_suites.paths.descriptors import NAMES

UNREAD, FORM = 'unread', 'form'
"""Causes: no answer in either reading; the right answer in the lenient reading alone."""
WRONG = ('named_first', 'named_second')
"""Causes: the wrong one, which was shown first or second."""
INCOMPLETE = 'partly_wrong'
"""Cause: some of several answers are wrong, or a list of descriptors is."""
EVERY_LEVEL = (*LEVELS, LARGE)
_LOWER = 'lower_'

MEASURES = (
    Measure('solved', 'fraction of replies that are right, as the paper reads them', primary=True),
    Measure('solved_lenient', 'fraction that are right if any reply naming one of two is read'),
    Measure('first', 'fraction of answers that name what is shown first', SHARE, None),
    Measure('perceived', 'fraction of descriptors whose lower path is named rightly', SHARE),
    Measure('recall', 'fraction of the descriptors that a task depends on that are named', SHARE,
            bounded_by='precision'),
    Measure('precision', 'fraction of the descriptors that are named that it depends on', SHARE,
            bounded_by='recall'),
    Measure('unread', 'fraction of replies without an answer as the paper reads them', FRACTION,
            higher_is_better=False),
    Measure('unread_lenient', 'fraction of replies without an answer at all', FRACTION,
            higher_is_better=False),
)
_NOT_SCORED: dict[str, float | None] = {measure.name: None for measure in MEASURES}


def measure_of(name: str) -> Measure:
    """A measure by its name; also ``lower_...``, which lines alone have."""
    return next((one for one in MEASURES if one.name == name), Measure(name, ''))


def lower_measure(descriptor: str) -> str:
    """Name of the column with the answers about a descriptor."""
    return f'{_LOWER}{descriptor}'


def score(item: Sample, answer: Mapping[str, Any] | None, truth: Mapping[str, Any],
          reply: SampleReply) -> Scored:
    """Score one sample's answer.

    Args:
        item: the sample.
        answer: what ``reading.read`` gave; None: unread.
        truth: ``better`` (0 or 1), ``lower`` (descriptor to 0, 1 or None) or ``needed``.
        reply: not used.
    """
    strict, lenient = (None, None) if answer is None else (answer['strict'], answer['lenient'])
    unread = {'unread': float(strict is None), 'unread_lenient': float(lenient is None)}
    if 'needed' in truth:
        found = _score_list(strict, lenient, truth['needed'])
    elif 'lower' in truth:
        found = _score_lower(strict, lenient, truth['lower'])
    else:
        found = _score_choice(strict, lenient, truth['better'])
    cause = UNREAD if answer is None else found.cause
    return Scored({**_NOT_SCORED, **found.measures, **unread}, cause)


def _score_choice(strict: int | None, lenient: int | None, better: int) -> Scored:
    solved = strict == better
    cause = (None if solved else FORM if strict is None and lenient == better else
             WRONG[1 - better] if strict is not None or lenient is not None else UNREAD)
    return Scored({'solved': float(solved), 'solved_lenient': float(lenient == better),
                   'first': None if strict is None else float(strict == 0)}, cause)


def _score_lower(strict: Mapping[str, int | None] | None,
                 lenient: Mapping[str, int | None] | None, lower: Mapping[str, int | None],
                 ) -> Scored:
    defined = {name: path for name, path in lower.items() if path is not None}
    right, mildly = ({name: float(said is not None and said[name] == path)
                      for name, path in defined.items()} for said in (strict, lenient))
    said = [path for path in (strict or {}).values() if path is not None]
    solved = all(right.values())
    return Scored({
        'solved': float(solved), 'solved_lenient': float(all(mildly.values())),
        'first': said.count(0) / len(said) if said else None,
        'perceived': sum(right.values()) / len(defined) if defined else None,
        **{lower_measure(name): right.get(name) for name in lower}},
        None if solved else FORM if all(mildly.values()) else INCOMPLETE)


def _score_list(strict: Sequence[str] | None, lenient: Sequence[str] | None,
                needed: Sequence[str]) -> Scored:
    solved, mildly = (found is not None and set(found) == set(needed)
                      for found in (strict, lenient))
    hits = len({*(lenient or ())} & {*needed})
    return Scored({'solved': float(solved), 'solved_lenient': float(mildly),
                   'recall': hits / len(needed),
                   'precision': hits / len(lenient) if lenient else None},
                  None if solved else FORM if mildly else INCOMPLETE)


# ------------------------------------------------------------------------------------- summary


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The measures by part of the run.

    Returns:
        ``by_split``, ``by_scenario`` (``s01`` and so on), ``by_family`` (of maps), ``by_level``
        (of difficulty), ``by_kind`` (of segments), ``by_descriptor`` (items in which it decides,
        which may be several for an item): name to measures; ``perception``: for each descriptor
        ``all`` and the levels, with ``undefined``, the number of pairs that are alike in it; and
        ``positions``: how often what is shown first and second was named, and was right.
    """
    found: dict[str, Any] = {'by_split': grouped(lines, lambda line: line['split'], MEASURES)}
    for field in ('scenario', 'family', 'level', 'kind'):
        known = [line for line in lines if field in line['details']]
        found[f'by_{field}'] = grouped(known, functools.partial(_part, field), MEASURES)
    found['by_descriptor'] = {name: aggregates(there, MEASURES) for name in NAMES if (
        there := [line for line in lines if name in line['details'].get('descriptors', ())])}
    return {**found, 'perception': _perception(lines), 'positions': positions(lines)}


def _part(field: str, line: Mapping[str, Any]) -> str:
    value = line['details'][field]
    return f's{value:02}' if field == 'scenario' else str(value)


def _perception(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    asked = [line for line in lines if 'levels' in line['details']]
    found: dict[str, Any] = {}
    for name in NAMES if asked else ():
        measure = Measure(lower_measure(name), '')
        parts = {'all': asked, **{level: [line for line in asked
                                          if line['details']['levels'][name] == level]
                                  for level in EVERY_LEVEL}}
        found[name] = {
            **{part: aggregate(own, measure).as_json() for part, own in parts.items()},
            'undefined': sum(lower_measure(name) in line['measures']
                             and line['measures'][lower_measure(name)] is None
                             for line in asked)}
    return found


def positions(lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Count how often the path shown first or second was named (strict reading), and was right."""
    counts = Counter[str](dict.fromkeys(
        ('first', 'second', 'neither', 'right_first', 'right_second'), 0))
    for line in lines:
        truth = line.get('truth') or {}
        if line['measures'].get('solved') is None or 'levels' in line['details']:
            continue
        first = line['measures'].get('first')
        if first is None and 'needed' in truth:
            continue
        counts['neither' if first is None else 'first' if first else 'second'] += 1
        if 'better' in truth:
            counts['right_second' if truth['better'] else 'right_first'] += 1
    return dict(counts)
