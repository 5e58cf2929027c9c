"""Metrics again, from bags alone, and whether they are those of the live run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.metrics import score
from sightplan.model import EpisodeEnded, EpisodeEvent, InputError, StopReason
from sightplan.model.timeline import Timeline
from sightplan.records import RunStore
from sightplan.records.recorded import RecordedEpisode
from sightplan.replay.batches import Source
from sightplan.replay.sources import Sources
from sightplan.runs import Suite, scored_by, suite_of_run, summarise

NOT_COMPARED = ('bag', 'images', 'images_missing', 'failure.picture')
"""Fields of a line about where its files are, not what happened; ``a.b`` is b in a."""

_MOST_CHARACTERS = 200


@dataclass
class RunAgain:
    """The episodes of one run, scored from the run's bags.

    Attributes:
        run: the run directory; None if the bags belong to none.
        suite: the suite that the episodes belong to; None for none.
        lines: lines of results, in the order of the live ones where there are any.
        compared: number of whole episodes that have a live line.
        differing: episode to what differs from its live line, in words.
        without_bag: number of live episodes without a readable bag; 0 where only some bags of the
            run were asked for.
    """

    run: Path | None
    suite: Suite | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)
    compared: int = 0
    differing: dict[str, list[str]] = field(default_factory=dict)
    without_bag: int = 0

    @property
    def equal(self) -> bool | None:
        """Whether all are as they were live; None: there is nothing to compare with."""
        return not self.differing if self.compared else None

    def summary(self, out: str) -> dict[str, Any]:
        """Return the summary of ``sightplan run``, and the comparison with the live run."""
        origin: Mapping[str, Any] = {}
        if self.run is not None:
            try:
                origin = RunStore(self.run).origin()
            except InputError:  # of results alone one can do without it
                origin = {}
        return {**origin, **summary_of(self.lines, self.suite, out), 'equal': self.equal,
                'compared': self.compared, 'differing': self.differing,
                'without_bag': self.without_bag}


def summary_of(lines: Sequence[Mapping[str, Any]], suite: Suite | None,
               out: str) -> dict[str, Any]:
    """The summary of some lines of a suite, with the fields of ``sightplan run``."""
    return {**summarise(lines, suite), 'out': out, 'planned': len(lines),
            'problems': len({(line['domain'], line['split'], line['problem']) for line in lines}),
            'problems_skipped': [], 'repeated_lines': [], 'interrupted': False, 'stopped_by': '',
            'spent': None, 'pictures': ''}


def score_again(sources: Sources, scored: Callable[[Source, Mapping[str, Any]], None] =
                lambda source, line: None) -> Iterator[RunAgain]:
    """Score the episodes of each run from its bags.

    Yields:
        each run, when its bags have been read.
    """
    for run in sources.runs:
        again = RunAgain(run, _suite_of(run))
        bags = [bag for bag in sources.bags if bag.run == run]
        seen: set[str] = set()
        for source in sources.read(bags=bags):
            line = rescore(source.episode, again.suite)
            live = sources.live(source)
            if live is not None:
                seen.add(live['id'])
                if not source.episode.warnings:
                    again.compared += 1
                    found = differences(live, line)
                    if found:
                        again.differing[source.key] = [str(text) for text in found]
            again.lines.append(line)
            scored(source, line)
        order = {line['id']: place for place, line in enumerate(sources.lines(run))}
        again.lines.sort(key=lambda line: order.get(line['id'], len(order)))
        again.without_bag = len(order.keys() - seen) if run in sources.whole else 0
        yield again


def _suite_of(run: Path | None) -> Suite | None:
    """Return the suite of a run; None if it has none, or if it is not known."""
    if run is None:
        return None
    try:
        return suite_of_run(RunStore(run).run_info())
    except InputError:
        return None


def rescore(episode: RecordedEpisode, suite: Suite | None = None) -> dict[str, Any]:
    """Score a recorded episode.

    The line equals the live one in all but ``NOT_COMPARED``, for any method and domain. An episode
    that was cut off, or of which an event is lost, ends there with an infrastructure error and is
    not scored, as in a live run. An episode without truth is not scored either, without an error:
    only values that need no truth are counted.

    Returns:
        a line of results, see ``EpisodeScorer.result``; plain JSON data.
    """
    truth = None if episode.truth is None else episode.truth.repeated()
    how = scored_by(suite)
    timeline = Timeline.of_events(_whole(episode), truth=truth, way=how[-1] is not None)
    line: dict[str, Any] = json.loads(json.dumps(score(timeline, *how)))
    return line


def _whole(episode: RecordedEpisode) -> Iterator[EpisodeEvent]:
    """Yield the events up to the first lost one, always closed by an EpisodeEnded."""
    events: Sequence[EpisodeEvent] = episode.events
    if episode.lost:
        total = len(episode.events) + len(episode.lost)
        why = f"message {episode.lost[0]} of the agent's {total} was lost"
        events = events[:episode.lost[0]]
    else:
        why = 'the recording ends before the episode does'
    yield from events
    if episode.timeline.end is None or len(events) < len(episode.events):
        yield EpisodeEnded(StopReason.ERROR, why)


def differences(live: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Compare two lines of results of one episode.

    Returns:
        ``field: was X, now Y`` for each field but ``NOT_COMPARED``; empty if they are equal.
    """
    return list(_differences(live, again, ''))


def _differences(live: Any, again: Any, path: str) -> Iterator[str]:
    if isinstance(live, Mapping) and isinstance(again, Mapping):
        for key in dict.fromkeys((*live, *again)):
            inner = f'{path}.{key}' if path else str(key)
            if inner not in NOT_COMPARED:
                yield from _differences(live.get(key), again.get(key), inner)
    elif (isinstance(live, list) and isinstance(again, list) and len(live) == len(again)):
        for number, (before, now) in enumerate(zip(live, again, strict=True)):
            yield from _differences(before, now, f'{path}[{number}]')
    elif live != again:
        yield f'{path}: was {_short(live)}, now {_short(again)}'


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MOST_CHARACTERS else f'{text[:_MOST_CHARACTERS]} ...'
