"""The blocksworld world: coloured cubes, a camera, and a hand that sometimes fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.episodic_world import (
    Episode,
    EpisodicWorld,
    check_probability,
)
from sightplan.model import (
    Action,
    EpisodeSpec,
    Feedback,
    Observation,
    State,
    WorldError,
    check_settings,
)
from sightplan_sim.arm.settings import refuse_without_arm
from sightplan_sim.blocksworld.camera import Camera, Layout, Optics
from sightplan_sim.blocksworld.initial import Scenario, read_scenario
from sightplan_sim.blocksworld.look import Look, sample_look, sample_placement
from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.table import Table
from sightplan_sim.blocksworld.truth import true_atoms
from sightplan_sim.episodes import (
    Pose7,
    check_names,
    generator,
    pose_matrix,
)
from sightplan_sim.pinhole import CameraInfo

if TYPE_CHECKING:
    from sightplan_sim.blocksworld.arm_world import ArmWorld

MOVE_S = 2.0
"""Time by which the simulated clock advances at each move [s]."""

ACTION = 'moveblock'

Stacks = tuple[tuple[str, ...], ...]


class BlocksworldWorld(EpisodicWorld['_Episode']):
    """Implements the ports World and TruthSource over a Table, drawn or not.

    The blocks' positions are the only record of where they are: legality and ground truth
    are read from them.

    Failure model (ViPlan, section on action failures): a legal action fails with the
    episode's probability; then with .5 nothing happens, with .25 the block lands on a neighbour
    of the target column, with .25 on a neighbour of its own column. The neighbour is left or
    right with equal chance, inward at the edges; the block lands on top. If that is the column
    it came from, nothing moves, and the outcome is still recorded as dropped. With
    ``failures=reported`` the feedback has the message ``no-op`` or names the move that happened
    instead, and a block that would come down where it came from is an illegal move.

    Outcomes: ``success``; ``illegal``; ``no_op``; ``dropped_target:moveblock(r, c2)`` or
    ``dropped_source:moveblock(r, c2)`` with the move that happened instead (none if c2 is the
    column it came from).

    Attributes:
        settings: as given.
        renderer: what draws the pictures, with its version, for the records of a run.
        pictures: whether there is anything to be seen in them.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, settings: Settings | None = None,
                 clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(clock_ns)
        self.settings = settings or Settings()
        check_settings(self.settings)
        s = self.settings
        self._scene = _make_table(s)
        self.renderer = self._scene.renderer
        self.pictures = s.pictures != 'none'

    def close(self) -> None:
        """Give the simulator back."""
        with self._lock:
            self._episode = None
            self._scene.close()

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Build the problem's initial state; look and failures are drawn from seed and name.

        Raises:
            WorldError: the problem cannot be shown (see ``read_scenario``), does not fit the
                picture at the set distance, or the failure probability is not in [0, 1].
        """
        check_probability(spec)
        scenario = read_scenario(spec.problem)
        look = sample_look(generator('blocksworld', spec, 'look'), self.settings.look)
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            self._check_in_view(scenario, look)
            self._scene.place(scenario.stacks, look)
            self._start(_Episode(
                spec=spec, scenario=scenario,
                layout=self._scene.layout(len(scenario.columns), len(scenario.colours)),
                look=look, failures=self._failures(spec),
                placements=generator('blocksworld', spec, 'placements')))

    def execute(self, action: Action) -> Feedback:
        """Move a block, or let the move fail; the feedback reveals which only if so set.

        An unknown action or object and an illegal move are REJECTED, and nothing moves.
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
            reported = self.settings.failures == 'reported'
            message = {'success': '', 'no_op': 'no-op'}.get(outcome)
            if message is None:
                if reported and landing == source:
                    return self._reject(episode, 'not legal')
                message = str(Action(ACTION, (action.args[0], scenario.columns[landing])))
                outcome = f'{outcome}:{message}'
            if landing != source:
                self._move(episode, stacks, colour, source, landing)
            return self._finish(episode, outcome, MOVE_S, message if reported else '')

    def _failures(self, spec: EpisodeSpec) -> np.random.Generator:
        """Return the source of an episode's failures."""
        seed = self.settings.failure_seed
        return (generator('blocksworld', spec, 'failures') if seed < 0
                else np.random.default_rng(seed))

    # --- beyond the ports ---------------------------------------------------------------------

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        return self._scene.optics.info(self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the world [m] in this episode."""
        with self._lock:
            camera = self._camera(self._current())
        return pose_matrix(camera.axes, camera.position_m)

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

    def _picture(self, episode: _Episode) -> Observation:
        frame = self._scene.render(
            self._read_stacks(episode), episode.scenario.columns, episode.look)
        return Observation(image=frame.rgb, stamp_ns=0, frame_id=self.settings.frame_id,
                           depth_m=frame.depth_m)

    def _read_stacks(self, episode: _Episode) -> Stacks:
        """Colours of the blocks in each column, bottom to top, by the blocks' positions."""
        xs = np.array(episode.layout.column_x_m)
        piles: list[list[tuple[float, str]]] = [[] for _ in xs]
        for colour, (x, _, z) in self._scene.positions_m().items():
            piles[int(np.argmin(np.abs(xs - x)))].append((z, colour))
        return tuple(tuple(colour for _, colour in sorted(pile)) for pile in piles)

    def _read_state(self, episode: _Episode) -> State:
        layout, scenario = episode.layout, episode.scenario
        blocks: dict[str, Pose7] = {
            scenario.names[colour]: (*position, 0.0, 0.0, 0.0, 1.0)
            for colour, position in self._scene.positions_m().items()}
        columns = dict(zip(scenario.columns, layout.column_x_m, strict=True))
        return true_atoms(blocks, columns, layout.pitch_m)

    def _move(self, episode: _Episode, stacks: Stacks, colour: str, source: int,
              landing: int) -> None:
        moved = [list(stack) for stack in stacks]
        moved[source].pop()
        moved[landing].append(colour)
        episode.look = episode.look.with_placement(
            colour, sample_placement(episode.placements, self.settings.look))
        self._scene.place(moved, episode.look)


@dataclass(kw_only=True)
class _Episode(Episode):
    """State of one episode."""

    scenario: Scenario
    layout: Layout
    look: Look
    failures: np.random.Generator
    placements: np.random.Generator


def _make_table(s: Settings) -> Table:
    """A table that is drawn, or, without pictures, one for which no simulator is started."""
    if s.pictures == 'none':
        return Table(Optics(s.width, s.height, s.fov_deg, s.elevation_deg, s.margin,
                            s.distance_m))
    from sightplan_sim.blocksworld.scene import BlocksScene  # needs PyBullet and OpenCV
    return BlocksScene(
        s.width, s.height, fov_deg=s.fov_deg, elevation_deg=s.elevation_deg, margin=s.margin,
        distance_m=s.distance_m, supersampling=s.supersampling)


def _unknown(action: Action, scenario: Scenario) -> str:
    """Explain why an action does not exist in this problem; '' if it does."""
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


def make_world(clock_ns: Callable[[], int] | None = None,
               **settings: Any) -> BlocksworldWorld | ArmWorld:
    """Make a world from fields of ``Settings``.

    The entry point ``blocksworld`` names this function.

    It is also a TruthSource. Close it, or use it in a ``with`` statement.

    Raises:
        InputError: a setting is unknown or out of bounds, or needs an arm; names it.
    """
    check_names(Settings, settings, 'blocksworld')
    chosen = Settings(**settings)
    if chosen.execution == 'arm':
        from sightplan_sim.blocksworld.arm_world import ArmWorld  # needs Pinocchio
        return ArmWorld(chosen, clock_ns)
    refuse_without_arm(chosen)
    return BlocksworldWorld(chosen, clock_ns)


def world_identity(options: Mapping[str, Any]) -> dict[str, Any]:
    """Hashes of the files that settings name, which change results as settings do.

    Args:
        options: settings of the world, as for ``make_world``; a node that is the world adds the
            hash itself, for its files may lie on another machine.

    Raises:
        InputError: a file cannot be read.
    """
    if options.get('execution') != 'arm':
        return {}
    from sightplan_sim.arm.world import robot_identity  # needs Pinocchio
    return robot_identity(options, Settings().robot)
