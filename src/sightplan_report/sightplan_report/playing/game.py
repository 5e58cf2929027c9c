"""A game: it carries pictures from an episode to a person, and moves back.

The episode runs in one thread and waits in ``ask``; the page's requests come in others. A person
learns what any method learns: the observation before each action, the goal as it is shown or told,
the feedback to each action, and that an episode is over. Not even the problem's name is passed on,
because it may say how hard the problem is.

A domain can be played if its folder holds ``by_hand.py`` with ``RULES``, ``pieces(problem)``,
``example(problem)``, ``move(problem, piece, direction)``, ``read_line(problem, line)``,
``words(action)`` and ``refusal(message)``; see that of ``sliding``. If it holds ``marks.py``,
pictures are marked as for models.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.agent import Act, Stop, WorldContext
from sightplan.domains import Domain
from sightplan.model import (
    Action,
    CancelledError,
    EpisodeEnded,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Problem,
    StopReason,
)
from sightplan.model.event_handler import EventHandler
from sightplan.records.failure_picture import encode_png

OPENING, READY, PLAYING, OVER, ENDED = 'opening', 'ready', 'playing', 'over', 'ended'
"""Phases: nothing to show yet; before the first puzzle; a puzzle; after one; no puzzle is left."""

BY_HAND = 'by_hand'
_START, _DONE = 'start', 'done'
_KEPT_PICTURES = 4  # of the goal and the last moves; a page may ask for one a little late
_PATIENCE_S = 20.0  # longest time for which a request waits for news

VERDICTS = {StopReason.GOAL_REACHED: 'solved', StopReason.GAVE_UP: 'given up',
            StopReason.BUDGET: 'no move left', StopReason.PLAN_DONE: 'done',
            StopReason.ERROR: 'broken off by an error, and not counted'}
"""Words that a person reads at the end of a puzzle."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A move, or the end; ``line`` numbers the lines and clicks of the person."""

    what: Action | Stop
    line: int


@dataclass
class _Puzzle:
    """State of the puzzle that is shown; ``problem`` is None while no move is accepted."""

    problem: Problem | None = None
    budget: int = 0
    stops_at_goal: bool = True
    pieces: list[dict[str, Any]] = field(default_factory=list)
    example: str = ''
    goal: dict[str, Any] | None = None
    now: dict[str, Any] | None = None
    queue: deque[_Entry] = field(default_factory=deque)
    under_way: _Entry | None = None
    lines: int = 0
    log: list[dict[str, str]] = field(default_factory=list)
    verdict: str = ''

    @property
    def waiting(self) -> int:
        """Number of entries that are not carried out yet."""
        return len(self.queue) + (self.under_way is not None)


class StaleError(Exception):
    """A request is about a puzzle that is over, or not begun."""


class Game(EventHandler):
    """Link between the episodes of a run and a person's page; safe for several threads.

    It is the ``Player`` of the method ``human``, a ``Recorder`` that takes note of ends alone, and
    a ``Progress`` that waits for the person before each puzzle.
    """

    def __init__(self, domain: Domain, name: str, goal_beside: bool = False) -> None:
        """Start without a puzzle.

        Args:
            domain: of the puzzles.
            name: of the person, '' for none.
            goal_beside: whether the page begins with the goal beside the board; a button of the
                page changes it.

        Raises:
            InputError: the domain cannot be played by hand.
        """
        self.name, self._goal_beside = name, goal_beside
        self._hand, self._marks = hand_of(domain), domain.part('marks')
        self._news = threading.Condition()
        self._version = 0
        self._phase = OPENING
        self._closed = False
        self._end_shown = False
        self._played = self._total = self._solved = 0
        self._pictures: dict[int, NDArray[np.uint8]] = {}
        self._serial = 0
        self._puzzle = _Puzzle()

    # ------------------------------------------------------------ what the run's thread calls

    def started(self, out: Path, done: Sequence[Mapping[str, Any]], total: int,
                skipped: Sequence[str]) -> None:
        """The run is open; returns when the person wants to begin. See ``Progress``."""
        with self._news:
            self._played, self._total = len(done), total
            self._solved = sum(line['stop'] == StopReason.GOAL_REACHED.value for line in done)
            if self._played < total:
                self._wait_for_person(READY)

    def item(self, line: Mapping[str, Any]) -> None:
        """A puzzle's line is on the disk; returns when the person wants the next one."""
        with self._news:
            self._played += 1
            if self._played < self._total:
                self._wait_for_person(OVER)
            else:
                self._set_phase(OVER)

    def begin(self, context: WorldContext, observation: Observation,
              goal: Observation | None) -> None:
        """Show a new puzzle; contract in ``Player``."""
        problem = context.problem
        with self._news:
            self._pictures.clear()
            self._puzzle = _Puzzle(
                problem, context.spec.max_actions, context.spec.stop_at_goal,
                self._hand.pieces(problem), self._hand.example(problem),
                self._view(goal, 'goal') if goal is not None
                else {'picture': None, 'text': context.domain.goal_text(problem)})
            self._puzzle.now = self._view(observation, 'active')
            self._set_phase(PLAYING)

    def ask(self, context: WorldContext) -> Act | Stop:
        """Wait for a move; contract in ``Player``."""
        with self._news:
            self._news.wait_for(lambda: self._puzzle.queue or self._closed)
            if self._closed:
                raise CancelledError('the player left')
            wish = self._puzzle.under_way = self._puzzle.queue.popleft()
            return Act(wish.what) if isinstance(wish.what, Action) else wish.what

    def learn(self, action: Action, feedback: Feedback, observation: Observation) -> None:
        """Show the result of a move; see ``Player``.

        What comes after a refused move on its line is dropped.
        """
        with self._news:
            puzzle = self._puzzle
            wish, puzzle.under_way = puzzle.under_way, None
            note = ''
            if feedback.status is not FeedbackStatus.EXECUTED:
                note = self._hand.refusal(feedback.message)
                dropped = [one for one in puzzle.queue if wish is not None
                           and one.line == wish.line]
                if dropped:
                    note += f'; dropped what came after it ({len(dropped)})'
                    puzzle.queue = deque(one for one in puzzle.queue if one not in dropped)
            puzzle.log.append({'words': self._hand.words(action), 'refused': note})
            puzzle.now = self._view(observation, 'active')
            self._notify()

    def on_ended(self, event: EpisodeEnded) -> None:
        """Take note of the end of an episode."""
        with self._news:
            self._puzzle.queue.clear()
            self._puzzle.under_way = self._puzzle.problem = None
            self._puzzle.verdict = VERDICTS.get(event.reason, '')
            self._solved += event.reason is StopReason.GOAL_REACHED

    def ended(self) -> None:
        """The run is over."""
        with self._news:
            self._set_phase(ENDED)

    def close(self) -> None:
        """End the game; threads that wait for the person go on."""
        with self._news:
            self._closed = True
            self._notify()

    @property
    def closed(self) -> bool:
        """Whether the game has ended."""
        return self._closed

    @property
    def open(self) -> bool:
        """Whether there is a puzzle to show."""
        return self._phase != OPENING

    @property
    def end_shown(self) -> bool:
        """Whether a page was told that the run has ended."""
        return self._end_shown

    # ----------------------------------------------------------- what the page's requests call

    def state(self, known: int = -1) -> dict[str, Any]:
        """All that a page shows, JSON-ready; waits a while for news.

        Args:
            known: version that the page has.
        """
        with self._news:
            self._news.wait_for(lambda: self._version > known or self._closed, _PATIENCE_S)
            self._end_shown = self._end_shown or self._phase == ENDED
            puzzle = self._puzzle
            return {
                'version': self._version, 'phase': self._phase, 'player': self.name,
                'puzzle': self._number, 'puzzles': self._total, 'solved': self._solved,
                'moves': len(puzzle.log), 'budget': puzzle.budget, 'waiting': puzzle.waiting,
                'pieces': puzzle.pieces, 'example': puzzle.example, 'now': puzzle.now,
                'goal': puzzle.goal, 'goal_beside': self._goal_beside, 'log': list(puzzle.log),
                'verdict': puzzle.verdict,
                'stops_at_goal': puzzle.stops_at_goal, 'rules': self._hand.RULES}

    def picture(self, number: int) -> bytes:
        """A picture that the state names, as PNG.

        Raises:
            KeyError: there is none of that number (any more).
        """
        with self._news:
            picture = self._pictures[number]
        return encode_png(picture)

    def move(self, puzzle: int, piece: str, direction: str) -> None:
        """Queue a move of the person.

        Raises:
            InputError: there is no such piece or direction, or no move is left.
            StaleError: this puzzle is not being played.
        """
        with self._news:
            self._add(puzzle, [self._hand.move(self._playing(puzzle), piece, direction)])

    def type(self, puzzle: int, line: str) -> None:
        """Take a typed line: commands, separated by commas; all of them, or none.

        Raises:
            InputError: a command cannot be read, or there are more than moves are left.
            StaleError: this puzzle is not being played.
        """
        with self._news:
            if self._phase in (READY, OVER) and line.strip().lower() == _START:
                self.go_on(puzzle)
                return
            read = self._hand.read_line(self._playing(puzzle), line)
            end = read.index(_DONE) if _DONE in read else len(read)
            wishes: list[Action | Stop] = [wish for wish in read[:end] if wish != _START]
            if end < len(read):
                wishes.append(Stop(StopReason.PLAN_DONE, 'the player says so'))
            self._add(puzzle, wishes)

    def give_up(self, puzzle: int) -> None:
        """End a puzzle unsolved; moves that wait are dropped.

        Raises:
            StaleError: this puzzle is not being played.
        """
        with self._news:
            self._playing(puzzle)
            self._puzzle.queue.clear()
            self._add(puzzle, [Stop(StopReason.GAVE_UP, 'the player gave up')])

    def go_on(self, puzzle: int) -> None:
        """Begin the first puzzle, or the next one after ``puzzle``.

        Raises:
            StaleError: this puzzle is not the one that is shown, or is not over.
        """
        with self._news:
            if self._phase not in (READY, OVER) or puzzle != self._number:
                raise StaleError('this puzzle is not over')
            self._go = True
            self._notify()

    # ----------------------------------------------------------------------------------- inside

    @property
    def _number(self) -> int:
        """Number of the puzzle that is shown, from 1; 0 before the first one."""
        return self._played + (self._phase in (READY, PLAYING))

    def _wait_for_person(self, phase: str) -> None:
        self._go = False
        self._set_phase(phase)
        self._news.wait_for(lambda: self._go or self._closed)

    def _set_phase(self, phase: str) -> None:
        self._phase = phase
        self._notify()

    def _notify(self) -> None:
        self._version += 1
        self._news.notify_all()

    def _playing(self, puzzle: int) -> Problem:
        problem = self._puzzle.problem
        if self._phase != PLAYING or puzzle != self._number or problem is None:
            raise StaleError('this puzzle is not being played')
        return problem

    def _add(self, puzzle: int, wishes: Sequence[Action | Stop]) -> None:
        """Let wishes wait for their turn, if there is room for all."""
        self._playing(puzzle)
        shown = self._puzzle
        moves = sum(isinstance(wish, Action) for wish in wishes)
        left = shown.budget - len(shown.log) - shown.waiting
        if moves > left:
            raise InputError(f'these are {moves} moves, and {left} are left' if moves > 1
                             else 'no move is left')
        shown.lines += 1
        shown.queue += [_Entry(wish, shown.lines) for wish in wishes]
        self._notify()

    def _view(self, observation: Observation, what: str) -> dict[str, Any]:
        """An observation as a page shows it, JSON-ready."""
        image = observation.image
        if image is None:
            return {'picture': None, 'text': observation.text}
        if self._marks is not None:
            image = self._marks.mark(image, what)
        self._serial += 1
        self._pictures[self._serial] = image
        goal = self._puzzle.goal['picture'] if self._puzzle.goal else None
        for old in [number for number in self._pictures if number != goal][:-_KEPT_PICTURES]:
            del self._pictures[old]
        return {'picture': self._serial, 'text': observation.text}


def hand_of(domain: Domain) -> ModuleType:
    """Module of a domain with what people need to play it.

    Raises:
        InputError: it has nothing.
    """
    module = domain.part(BY_HAND)
    if module is None:
        raise InputError(f'domain {domain.name!r} cannot be played by hand: its folder has no '
                         f'{BY_HAND}.py (choose another domain, such as sliding)')
    return module
