"""The blocksworld world: coloured cubes, a camera, and a hand that sometimes bungles."""

from __future__ import annotations

import bisect
import dataclasses
import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    State,
    WorldError,
    check_settings,
)
from sightplan_sim.blocksworld.camera import BLOCK_M, Camera, Layout, Optics
from sightplan_sim.blocksworld.initial import Scenario, read_scenario
from sightplan_sim.blocksworld.look import Look, sample_look, sample_placement
from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.table import Picture, Table
from sightplan_sim.camera_info import CameraInfo
from sightplan_sim.clock import WorldClock

RESET_S = 1.0
OBSERVE_S = 1 / 30
MOVE_S = 2.0
REJECT_S = 0.1
"""Nominal durations by which simulated time advances."""

ACTION = 'moveblock'

Stacks = tuple[tuple[str, ...], ...]


class BlocksworldWorld:
    """Implements the ports World and TruthSource over a Table, drawn or not.

    The blocks' positions are the only record of where they are: legality and ground truth
    are read from them. All methods may be called from several threads.

    Failure model (ViPlan, section on action failures): a legal action fails with the
    episode's probability; then with .5 nothing happens, with .25 the block lands on a neighbour
    of the target column, with .25 on a neighbour of its own column. The neighbour is left or
    right with equal chance, inward at the edges; the block lands on top. If that is the column
    it came from, nothing moves, and the outcome is still recorded as dropped.

    Args:
        settings: picture and camera.
        clock_ns: source of time [ns]; None simulates time (RESET_S, OBSERVE_S, MOVE_S and
            REJECT_S pass per call, in no time).

    Attributes:
        settings: as given.
        renderer: what draws the pictures, with its version, for the records of a run.
        pictures: whether there is anything to be seen in them.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, settings: Settings | None = None,
                 clock_ns: Callable[[], int] | None = None) -> None:
        self.settings = settings or Settings()
        check_settings(self.settings)
        s = self.settings
        self._lock = threading.RLock()
        self._clock = WorldClock(clock_ns)
        self._scene = _make_table(s)
        self.renderer = self._scene.renderer
        self.pictures = s.pictures != 'none'
        self._episode: _Episode | None = None

    def close(self) -> None:
        """Give the simulator back."""
        with self._lock:
            self._episode = None
            self._scene.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Build the problem's initial state; look and failures are drawn from seed and name.

        Raises:
            WorldError: the problem cannot be shown (see ``read_scenario``), does not fit the
                picture at the set distance, or the failure probability is not in [0, 1].
        """
        if not 0.0 <= spec.failure_probability <= 1.0:
            raise WorldError(f'episode {spec.episode_id}: failure probability '
                             f'{spec.failure_probability} is not in [0, 1]')
        scenario = read_scenario(spec.problem)
        look = sample_look(_generator(spec, 'look'), self.settings.look)
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            self._check_in_view(scenario, look)
            self._scene.place(scenario.stacks, look)
            self._clock.advance(RESET_S)
            episode = _Episode(
                spec, scenario, self._scene.layout(len(scenario.columns), len(scenario.colours)),
                look, _generator(spec, 'failures'), _generator(spec, 'placements'))
            episode.stamps_ns.append(self._clock.now_ns())
            episode.states.append(self._read_state(episode))
            self._episode = episode

    def observe(self) -> Observation:
        """Take a picture; between actions it is the same picture with a new stamp.

        Raises:
            WorldError: there was no reset.
        """
        with self._lock:
            episode = self._current()
            stamp_ns = self._clock.advance(OBSERVE_S)
            frame = self._frame(episode)
            return Observation(
                image=frame.rgb, stamp_ns=stamp_ns, frame_id=self.settings.frame_id,
                depth_m=frame.depth_m)

    def execute(self, action: Action) -> Feedback:
        """Move a block, or bungle it; the feedback never tells which.

        An unknown action or object and an illegal move are REJECTED, and nothing moves.

        Raises:
            WorldError: there was no reset.
        """
        with self._lock:
            episode = self._current()
            scenario = episode.scenario
            problem = _unknown(action, scenario)
            if problem:
                return self._reject(episode, problem)
            colour = scenario.colours[action.args[0]]
            target = scenario.columns.index(action.args[1])
            stacks = self._read_stacks(episode)
            source = next(i for i, stack in enumerate(stacks) if colour in stack)
            if source == target or stacks[source][-1] != colour:
                return self._reject(episode, 'not legal')
            outcome, landing = _draw_outcome(
                episode.failures, episode.spec.failure_probability, source, target, len(stacks))
            if outcome.startswith('dropped'):
                done = Action(ACTION, (action.args[0], scenario.columns[landing]))
                outcome = f'{outcome}:{done}'
            if landing != source:
                self._move(episode, stacks, colour, source, landing)
            return self._finish(episode, outcome, FeedbackStatus.EXECUTED, '', MOVE_S)

    # --- port TruthSource ---------------------------------------------------------------------

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms now or at a time of this episode; left and right are transitive.

        Args:
            stamp_ns: a time on the world's clock [ns]; None is now.

        Raises:
            WorldError: there was no reset, or the time is before it or still to come.
        """
        with self._lock:
            episode = self._current()
            if stamp_ns is None:
                return episode.states[-1]
            now_ns = self._clock.now_ns()
            if not episode.stamps_ns[0] <= stamp_ns <= now_ns:
                raise WorldError(
                    f'no state at {stamp_ns} ns: episode {episode.spec.episode_id} has lasted '
                    f'from {episode.stamps_ns[0]} to {now_ns} ns so far')
            return episode.states[bisect.bisect_right(episode.stamps_ns, stamp_ns) - 1]

    def last_outcome(self) -> str:
        """What really became of the last action of this episode.

        Returns:
            ``success``; ``illegal``; ``no_op``; ``dropped_target:moveblock(r, c2)`` or
            ``dropped_source:moveblock(r, c2)`` with the move that happened instead (none if c2
            is the column it came from); '' before the first action.

        Raises:
            WorldError: there was no reset.
        """
        with self._lock:
            return self._current().outcome

    # --- beyond the ports ---------------------------------------------------------------------

    def now_ns(self) -> int:
        """The world's time [ns]."""
        with self._lock:
            return self._clock.now_ns()

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        optics = self._scene.optics
        return CameraInfo(optics.width, optics.height, optics.matrix(), np.zeros(5),
                          self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the world [m] in this episode.

        Raises:
            WorldError: there was no reset.
        """
        with self._lock:
            camera = self._camera(self._current())
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = camera.rotation.T, camera.position_m
        return pose

    def _current(self) -> _Episode:
        if self._episode is None:
            raise WorldError('no episode: reset the world first')
        return self._episode

    def _camera(self, episode: _Episode) -> Camera:
        scenario = episode.scenario
        return self._scene.camera(len(scenario.columns), len(scenario.colours), episode.look)

    def _check_in_view(self, scenario: Scenario, look: Look) -> None:
        if self.settings.distance_m <= 0:
            return  # the camera fits itself
        camera = self._scene.camera(len(scenario.columns), len(scenario.colours), look)
        if not camera.sees_all(len(scenario.columns), len(scenario.colours)):
            raise WorldError(
                f'{len(scenario.columns)} columns with {len(scenario.colours)} blocks do not fit '
                f'the picture from {self.settings.distance_m} m: raise distance_m, or set it to 0')

    def _frame(self, episode: _Episode) -> Picture:
        if episode.frame is None:
            episode.frame = self._scene.render(
                self._read_stacks(episode), episode.scenario.columns, episode.look)
            for array in (episode.frame.rgb, episode.frame.depth_m):
                if array is not None:
                    array.setflags(write=False)  # handed out more than once
        return episode.frame

    def _read_stacks(self, episode: _Episode) -> Stacks:
        """Which blocks stand where, bottom to top, from their positions."""
        xs = np.array(episode.layout.column_x_m)
        piles: list[list[tuple[float, str]]] = [[] for _ in xs]
        for colour, (x, _, z) in self._scene.positions_m().items():
            piles[int(np.argmin(np.abs(xs - x)))].append((z, colour))
        return tuple(tuple(colour for _, colour in sorted(pile)) for pile in piles)

    def _read_state(self, episode: _Episode) -> State:
        """True atoms, from the blocks' positions and the columns' places."""
        names, columns = episode.scenario.names, episode.scenario.columns
        positions = self._scene.positions_m()
        xs = episode.layout.column_x_m
        atoms = {Atom(predicate, (a, b))
                 for i, a in enumerate(columns) for j, b in enumerate(columns)
                 for predicate, holds in (('leftof', xs[i] < xs[j]), ('rightof', xs[i] > xs[j]))
                 if holds}
        reach = episode.layout.pitch_m / 2
        for colour, (x, _, z) in positions.items():
            block = names[colour]
            atoms |= {Atom('incolumn', (block, column))
                      for column, cx in zip(columns, xs, strict=True) if abs(cx - x) < reach}
            higher = [(oz - z, other) for other, (ox, _, oz) in positions.items()
                      if other != colour and abs(ox - x) < reach and oz > z]
            if not higher:
                atoms.add(Atom('clear', (block,)))
            atoms |= {Atom('on', (names[other], block))
                      for gap, other in higher if gap < 1.5 * BLOCK_M}
        return frozenset(atoms)

    def _move(self, episode: _Episode, stacks: Stacks, colour: str, source: int,
              landing: int) -> None:
        moved = [list(stack) for stack in stacks]
        moved[source].pop()
        moved[landing].append(colour)
        episode.look = episode.look.with_placement(
            colour, sample_placement(episode.placements, self.settings.look))
        self._scene.place(moved, episode.look)
        episode.frame = None

    def _reject(self, episode: _Episode, message: str) -> Feedback:
        return self._finish(episode, 'illegal', FeedbackStatus.REJECTED, message, REJECT_S)

    def _finish(self, episode: _Episode, outcome: str, status: FeedbackStatus, message: str,
                duration_s: float) -> Feedback:
        episode.outcome = outcome
        stamp_ns = self._clock.advance(duration_s)
        state = self._read_state(episode)
        if state != episode.states[-1]:
            episode.stamps_ns.append(stamp_ns)
            episode.states.append(state)
        return Feedback(status, message, stamp_ns)


@dataclass
class _Episode:
    """What changes between one reset and the next."""

    spec: EpisodeSpec
    scenario: Scenario
    layout: Layout
    look: Look
    failures: np.random.Generator
    placements: np.random.Generator
    stamps_ns: list[int] = dataclasses.field(default_factory=list)
    states: list[State] = dataclasses.field(default_factory=list)
    outcome: str = ''
    frame: Picture | None = None


def _make_table(s: Settings) -> Table:
    """A table that is drawn, or, without pictures, one for which no simulator is started."""
    if s.pictures == 'none':
        return Table(Optics(s.width, s.height, s.fov_deg, s.elevation_deg, s.margin,
                            s.distance_m))
    from sightplan_sim.blocksworld.scene import BlocksScene  # needs PyBullet and OpenCV
    return BlocksScene(
        s.width, s.height, fov_deg=s.fov_deg, elevation_deg=s.elevation_deg, margin=s.margin,
        distance_m=s.distance_m, supersampling=s.supersampling)


def _generator(spec: EpisodeSpec, purpose: str) -> np.random.Generator:
    """A source of chance of its own for each purpose, the same in every process."""
    text = f'blocksworld/{purpose}/{spec.seed}/{spec.problem.name}'
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], 'little'))


def _unknown(action: Action, scenario: Scenario) -> str:
    """Why an action means nothing here, '' if it does mean something."""
    if action.name != ACTION:
        return f'unknown action {action.name}'
    if len(action.args) != 2:
        return f'{ACTION} takes a block and a column'
    block, column = action.args
    if block not in scenario.colours:
        return f'{block} is not a block'
    if column not in scenario.columns:
        return f'{column} is not a column'
    return ''


def _draw_outcome(rng: np.random.Generator, probability: float, source: int, target: int,
                  n_columns: int) -> tuple[str, int]:
    """Outcome of a legal move and the column where the block comes down.

    Three numbers are drawn whatever happens, so that the n-th move of an episode has the same
    luck at every probability.
    """
    fails, kind, side = rng.random(3)
    if fails >= probability:
        return 'success', target
    if kind < 0.5:
        return 'no_op', source
    name, column = ('dropped_target', target) if kind < 0.75 else ('dropped_source', source)
    neighbours: Sequence[int] = [c for c in (column - 1, column + 1) if 0 <= c < n_columns]
    return name, neighbours[int(side * len(neighbours))]


def make_world(clock_ns: Callable[[], int] | None = None, **settings: Any) -> BlocksworldWorld:
    """Make a world from named settings: what the entry point ``blocksworld`` gives.

    Args:
        clock_ns: source of time [ns], None simulates it.
        **settings: fields of ``Settings``.

    Returns:
        The world; it is also a TruthSource. Close it, or use it in a ``with`` statement.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in settings:
        if name not in known:
            raise InputError(f'unknown setting {name!r} of world blocksworld '
                             f'(known: {", ".join(known)})')
    return BlocksworldWorld(Settings(**settings), clock_ns)
