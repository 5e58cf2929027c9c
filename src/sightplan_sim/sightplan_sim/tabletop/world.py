"""World of the domain ``tabletop``: an arm tidies a table, and physics decides the results.

Without an arm (``execution`` ``symbolic``) it has no pictures: actions do what the PDDL says.

A problem's name tells its scene (``short_17``: the scene of seed 17), so that what the facts leave
open (which mug is where, what everything looks like) is the same wherever the problem is shown.
The agent sees what the robot's own camera sees, with depth.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightplan.domains import load_domain
from sightplan.domains.symbolic_world import SymbolicWorld
from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Observation,
    Problem,
    State,
    WorldError,
    check_settings,
    param,
)
from sightplan.model.ports import Shown
from sightplan.model.region import TrueThing
from sightplan_arm.config import load_robot
from sightplan_sim.arm.settings import refuse_without_arm
from sightplan_sim.arm.world import ArmedWorld, ArmEpisode, robot_identity
from sightplan_sim.episodes import check_names
from sightplan_sim.pinhole import CameraInfo, Pinhole
from sightplan_sim.tabletop import arm_world, true_places
from sightplan_sim.tabletop.arm_scene import TableArm, TableCamera, TableScene
from sightplan_sim.tabletop.arrangements import HORIZONS
from sightplan_sim.tabletop.cabinet import CABINET
from sightplan_sim.tabletop.grounded_scenes import IMPLICIT, make_source, pieces, true_thing
from sightplan_sim.tabletop.holders import HAND, IN, ON, Holder, holders, opened
from sightplan_sim.tabletop.tidy_problems import SURFACES, TABLE, object_name, problem_of
from sightplan_sim.tabletop.visible import Visible

if TYPE_CHECKING:
    from sightplan_sim.tabletop.tidying import Tidying

FRAME_ID = 'camera_optical_frame'
OPEN = 0.5
"""Fraction of its way from which a drawer counts as open."""


@dataclass(frozen=True, slots=True)
class Settings(arm_world.Settings):
    """Settings of the world."""

    execution: str = param(
        'symbolic', 'symbolic: actions do what the PDDL says, and there are no pictures; arm: a '
        'simulated arm carries them out', choices=('symbolic', 'arm'))
    true_places: bool = param(
        False, 'whether an action without a place in the picture is carried out where its objects '
        'truly are: for oracles, with execution=arm')
    rearm: bool = param(True, 'whether a reset re-arms a safety gate that has stopped')
    calibration_error_mm: float = param(
        2.0, "distance of the camera from its position in the robot's file, in a direction that "
        'the scene draws', low=0.0, high=100.0)
    calibration_error_deg: float = param(
        0.2, "angle of the camera to its orientation in the robot's file, about an axis that the "
        'scene draws', low=0.0,
        high=20.0)
    depth_noise_mm: float = param(
        2.0, 'standard deviation of the depth at 1 m; it grows with the square of the distance',
        low=0.0, high=50.0)


@dataclass(kw_only=True)
class _Episode(ArmEpisode):
    """State of one episode."""

    found: Tidying


class BareTable(SymbolicWorld):
    """The world without an arm."""

    no_pictures = 'execution=symbolic'


class TabletopWorld(ArmedWorld['_Episode']):
    """Implements the ports World and TruthSource; see ``ArmedWorld``.

    Actions are carried out at their places in the picture (``Action.region``); one without a place
    is rejected. Outcomes: ``success``, if anything has changed that is told by atoms, ``illegal``
    for what was rejected, else ``no_op``.

    Attributes:
        settings: as given.
        renderer: what draws the pictures, for the records of a run.

    Raises:
        InputError: a setting is out of bounds, or the robot's file is wrong.
    """

    def __init__(self, settings: Settings, clock_ns: Callable[[], int] | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        check_settings(settings)
        self.settings = settings
        robot = load_robot(settings.robot)
        optics = Pinhole(settings.width, settings.height, settings.fov_deg)
        with ExitStack() as stack:
            self._source = stack.enter_context(make_source())
            scene = stack.enter_context(TableScene(robot, settings, optics))
            arm = stack.enter_context(TableArm(robot, settings))
            super().__init__('tabletop', robot, arm, TableCamera(scene, arm.poses),
                             rearm=settings.rearm, clock_ns=clock_ns,
                             skill_settings=skill_settings)
            self._scene, self._table = scene, arm
            self.renderer = f'tabletop, arm {robot.name}'
            stack.pop_all()

    def close(self) -> None:
        """Give the simulators back."""
        super().close()
        self._source.close()

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        return self._scene.optics.info(FRAME_ID)

    def things(self) -> tuple[TrueThing, ...]:
        """All that is seen of things and drawers now: ground truth, for simulated models only.

        Raises:
            WorldError: there is no episode.
        """
        return tuple(self.things_by_name().values())

    def things_by_name(self) -> dict[str, TrueThing]:
        """True things and drawers, by their names in the scene."""
        with self._lock:
            episode = self._current()
            table = episode.found.arrangement.table
            shown = Visible(table, self._scene.shoot(self._table.poses()))
            open_now = {atom.args[0] for atom in self._read_state(episode)
                        if atom.predicate == 'open'}
        opened = {name for name in episode.found.arrangement.destinations
                  if object_name(name) in open_now}
        return {piece.name: true_thing(piece, table, opened)
                for piece in pieces(episode.found, shown) if piece.mask.any()}

    # --- inside -------------------------------------------------------------------------------

    def _misfit(self, spec: EpisodeSpec) -> str:
        problem = spec.problem
        if _scene_of(problem) is None:
            return (f'problem {problem.name}: its name does not name a scene; names are such as '
                    'short_3, and "sightplan problems generate" of domain tabletop makes such '
                    'problems')
        return ''

    def _make_episode(self, spec: EpisodeSpec) -> _Episode:
        scene = _scene_of(spec.problem)
        assert scene is not None, 'checked before'
        found = self._source.tidying(scene[1], scene[0], explicit=scene[2])
        shown = problem_of(found, load_domain('tabletop'), spec.problem.name)
        if (dict(shown.objects), shown.init) != (dict(spec.problem.objects), spec.problem.init):
            raise WorldError(
                f'problem {spec.problem.name}: its objects and its init are not those of the '
                'scene in its name; give it another name, or generate it again ("sightplan '
                'problems generate")')
        return _Episode(spec=spec, found=found)

    def _put(self, episode: _Episode) -> None:
        table = episode.found.arrangement.table
        self._table.lay(table.things, table.seed)
        self._scene.show(table, self.settings.calibration_seed + table.seed, self.arm.now_s())

    def _check_settled(self, episode: _Episode) -> None:
        """Accept every state: the picture shows where things have moved."""

    def _for_skills(self, problem: Problem) -> Problem:
        return problem.for_agent()

    def execute(self, action: Action) -> Feedback:
        """Carry out an action at its place in the picture; see ``ArmedWorld.execute``."""
        if action.region is None and self.settings.true_places:
            with self._lock:
                action = self._placed(self._current(), action)
        return super().execute(action)

    def _placed(self, episode: _Episode, action: Action) -> Action:
        """Copy of an action with the true place of its object, if it has one here."""
        found, frame = episode.found, self._scene.shoot(self._table.poses())
        names = {object_name(one.name): one.name for one in found.arrangement.table.things}
        places = {object_name(name): place for name, place in
                  found.arrangement.destinations.items()}
        about = action.args[-1] if action.args else ''
        region = None
        if action.name == 'grasp' and about in names:
            region = true_places.thing_box(found.arrangement.table, frame, names[about])
        elif about in places and action.name.startswith('place') and action.args[0] in names:
            region = true_places.spot(found, frame, self._scene.nominal, names[action.args[0]],
                                      places[about].name)
        elif about in places and places[about].part:
            region = true_places.drawer_box(found, frame, places[about])
        return dataclasses.replace(action, region=region)

    def _outcome(self, episode: _Episode, action: Action, status: FeedbackStatus,
                 before: State) -> str:
        if status is not FeedbackStatus.EXECUTED:
            return 'illegal'
        return 'success' if episode.states[-1] != before else 'no_op'

    def _read_state(self, episode: _Episode) -> State:
        arrangement, poses = episode.found.arrangement, self._table.poses()
        things = {one.name: one.thing for one in arrangement.table.things}
        held = self._table.held()
        holding = holders(things, self._table.places(), poses.slides, held)
        drawers = {(next(one.name for one in arrangement.table.things
                         if one.thing is place.thing), place.part): object_name(place.name)
                   for place in arrangement.destinations.values() if place.part}
        open_drawers = {name for where, name in drawers.items()
                        if opened(things, poses.slides).get(where, 0.0) >= OPEN}
        over = list(itertools.pairwise(drawers.values()))
        hung = {lower for upper, lower in over if upper in open_drawers}
        atoms = {Atom('over', pair) for pair in over}
        atoms |= {Atom('open', (name,)) for name in open_drawers}
        atoms |= {Atom('clear', (name,)) for name in drawers.values() if name not in hung}
        for one in arrangement.table.things:
            if one.name not in arrangement.destinations and one.thing.category != CABINET:
                atoms |= _whereabouts(one.name, holding[one.name], things, drawers)
        if not any(atom.predicate == 'held' for atom in atoms):
            atoms.add(Atom('handempty'))
        return frozenset(atoms)

    def _picture(self, episode: _Episode) -> Observation:
        seen = self.camera.observe()
        return Observation(seen.rgb, frame_id=FRAME_ID, depth_m=seen.depth_m)


def _whereabouts(name: str, holder: Holder, things: Mapping[str, Any],
                 drawers: Mapping[tuple[str, str], str]) -> set[Atom]:
    """True atoms about the holder of a thing; empty if the domain has no word for it."""
    own = object_name(name)
    if holder.name == HAND:
        return {Atom('held', (own,))}
    if holder.name == TABLE:
        return {Atom('on', (own, TABLE))}
    if holder.part:
        drawer = drawers.get((holder.name, holder.part))
        return {Atom(IN, (own, drawer))} if drawer else set()
    if holder.relation == ON and things[holder.name].category not in SURFACES:
        return set()
    return {Atom(holder.relation, (own, object_name(holder.name)))}


def _scene_of(problem: Problem) -> tuple[str, int, bool] | None:
    """Horizon, seed and whether the instruction is explicit; None if the name tells no scene."""
    found = re.fullmatch(rf'({IMPLICIT})?({"|".join(HORIZONS)})_(\d+)', problem.name)
    return (found[2], int(found[3]), not found[1]) if found else None


def make_world(clock_ns: Callable[[], int] | None = None,
               **settings: Any) -> BareTable | TabletopWorld:
    """Make a world from fields of ``Settings``; the entry point ``tabletop`` names this function.

    It is also a TruthSource. Close it, or use it in a ``with`` statement.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    check_names(Settings, settings, 'tabletop')
    chosen = Settings(**settings)
    if chosen.execution == 'arm':
        return TabletopWorld(chosen, clock_ns)
    refuse_without_arm(chosen)
    return BareTable(clock_ns)


def shown_with(options: Mapping[str, Any]) -> Shown:
    """Contents of observations with some options; contract in ``sightplan.runs.worlds``."""
    return Shown('' if options.get('execution') == 'arm' else BareTable.no_pictures)


def world_identity(options: Mapping[str, Any]) -> dict[str, Any]:
    """Hashes of files that change results as settings do; see ``robot_identity``.

    Raises:
        InputError: a file cannot be read.
    """
    return robot_identity(options, Settings().robot)
