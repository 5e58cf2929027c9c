"""The household world: a home of rigid bodies, and a robot that fetches and carries."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.domains import load_domain
from sightplan.domains.episodic_world import (
    Episode,
    EpisodicWorld,
    check_probability,
)
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    Feedback,
    InputError,
    Observation,
    Problem,
    State,
    WorldError,
)
from sightplan_sim.episodes import (
    check_names,
    generator,
    pose_matrix,
)
from sightplan_sim.household import predicates
from sightplan_sim.household.actions import Actions, Outcome
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.catalog import category_of
from sightplan_sim.household.homes import make_home
from sightplan_sim.household.labels import LabelledBox, draw_labels
from sightplan_sim.household.render import Frame, Painter
from sightplan_sim.household.robot import (
    GRIPPER,
    Robot,
    RobotBody,
    gripper_bodies,
    gripper_poses,
    held_name,
)
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.settings import (
    PAPER_LEFT_M,
    Settings,
    check_view,
    with_camera,
)
from sightplan_sim.household.shapes import Home, Station
from sightplan_sim.pinhole import CameraInfo, View

if TYPE_CHECKING:
    from sightplan_sim.household.driving import Drive
    from sightplan_suites.paths import ObstacleMap, Vector

ACT_S = {'navigate-to': 10.0, 'open-container': 5.0, 'close-container': 5.0}
OTHER_ACT_S = 3.0
"""Times by which the simulated clock advances: ``ACT_S`` by action, the other for all others
[s]."""

SEGMENT_PX = 240
"""Height of the picture from which visibility is computed [px]. It has the camera's aspect ratio,
so that all that counts as visible is in the camera's picture."""
HOME_TRIES = 6
"""Number of homes that are tried for a problem until one starts in its initial state."""
_HOMES_KEPT = 4
_NEXT_HOME = 1_000_003


class HouseholdWorld(EpisodicWorld['_Episode']):
    """Implements the ports World and TruthSource over a scene of rigid bodies.

    Which home it is, and how it looks, depends on the problem and the setting ``home`` alone;
    what the robot's actions come to, on the episode's seed and the problem's name.

    Failure model (after ViPlan's for blocksworld): a legal action fails with the episode's
    probability; then with .5 nothing happens, else the robot drives elsewhere, knocks the thing
    away, drops it on the floor, or moves the leaf too little. Without that bad luck, an action
    can still fail, as arms and floors have it (see ``actions``).

    With ``paths=planned`` the robot drives to where ``navigate-to`` brings it, also when it goes
    astray: see ``driving``. Where there is no path (through a shut door, say) it is put there all
    the same, because actions mean what the domain says, which knows no doors on the way; the
    drive says so. Drives change nothing that an agent sees.

    Outcomes: ``success``; ``failed:<why>``, without bad luck; ``no_op``;
    ``execution_failure:<what>``; ``illegal``.

    Attributes:
        settings: as given.
        renderer: what draws the pictures, with its version, for the records of a run.
        pictures: whether there is anything to be seen in them.
        labels: whether labels may be drawn into them.

    Raises:
        InputError: a setting is out of bounds, the camera looks past things, or the vector of
            paths is none or without paths.
    """

    def __init__(self, settings: Settings | None = None,
                 clock_ns: Callable[[], int] | None = None) -> None:
        super().__init__(clock_ns)
        self.settings = with_camera(settings or Settings())
        check_view(self.settings)
        s = self.settings
        if s.paths != 'none' and importlib.util.find_spec('sightplan_suites') is None:
            raise InputError(f'paths={s.paths} needs sightplan_suites, which is not installed '
                             '(pip install "sightplan_sim[paths]")')
        self._vector = _vector(s)
        self._body = RobotBody(
            camera_height=s.camera_height_m, camera_forward=s.camera_forward_m,
            camera_left=PAPER_LEFT_M if s.camera == 'paper' else 0.0,
            tilt=math.radians(s.tilt_deg), shoulder_height=s.shoulder_height_m, reach=s.reach_m)
        self._camera = Camera(s.width, s.height, s.fov_deg)
        self._scene = Scene()
        self._painter = Painter()
        self._painted: Home | None = None
        self._homes: OrderedDict[tuple[str, str], Home] = OrderedDict()
        self.pictures = s.pictures != 'none'
        self.labels = s.labels and self.pictures
        version = importlib.metadata.version('pybullet')
        self.renderer = (f'PyBullet TinyRenderer {version}, {s.width}x{s.height}, OpenCV '
                         f'{cv2.__version__}') if self.pictures else 'none'
        self._seen: tuple[object, frozenset[str]] = (None, frozenset())

    def close(self) -> None:
        """Give the simulator back."""
        with self._lock:
            self._episode = None
            self._painter.close()
            self._scene.close()

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Build the problem's home; chance in actions is drawn from seed and name.

        Raises:
            WorldError: the problem is none of this world, no home begins as it says (names the
                facts), or the failure probability is not in [0, 1].
        """
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            check_probability(spec)
            problem = _checked(spec.problem)
            home = self._build(problem)
            if self._painted is not home:
                self._painter.build(home, gripper_bodies(home.things))
                self._painted = home
            reference = self.settings.navigation == 'reference'
            actions = Actions(self._scene, home, problem, self._camera.half_fov, self._visible,
                              reference)
            self._start(_Episode(
                spec=spec, home=home, model=load_domain('household').model(problem),
                actions=actions, robot=Robot(self._body, home.start),
                failures=generator('household', spec, 'failures')))

    def execute(self, action: Action) -> Feedback:
        """Carry out an action, or let it fail; the feedback does not reveal which.

        An unknown action or object and an illegal action are REJECTED, and nothing moves.
        """
        with self._lock:
            episode = self._current()
            before = episode.states[-1]
            try:
                episode.model.check(action)
            except InputError as error:
                return self._reject(episode, str(error))
            anywhere = self.settings.navigation == 'reference' and action.name == 'navigate-to'
            if not anywhere and not episode.model.applicable(action, before):
                return self._reject(episode, 'not legal')
            if (self.settings.close == 'empty_hand' and action.name == 'close-container'
                    and episode.robot.held):
                return self._reject(episode, 'not legal')
            fails, kind = episode.failures.random(2)
            rng = generator('household', episode.spec, f'action {episode.legal}')
            episode.legal += 1
            if fails >= episode.spec.failure_probability:
                outcome = episode.actions.perform(
                    action, episode.robot, episode.model.effects(action, before), rng)
            elif kind < 0.5:
                outcome = Outcome(episode.robot, 'no_op')
            else:
                outcome = episode.actions.fail(action, episode.robot, rng)
            if self.settings.paths != 'none' and action.name == 'navigate-to':
                self._drive(episode, outcome.robot.station, action.args[0])
            episode.robot = outcome.robot
            return self._finish(episode, outcome.text, ACT_S.get(action.name, OTHER_ACT_S))

    # --- beyond the ports ---------------------------------------------------------------------

    def episode_details(self) -> dict[str, Any]:
        """Further facts about the episode so far, as JSON data; for metrics only.

        Returns:
            ``paths``: see ``driving.summarise``; nothing with ``paths=none``.
        """
        if self.settings.paths == 'none':
            return {}
        from sightplan_sim.household import driving
        with self._lock:
            return {'paths': driving.summarise(self._current().drives)}

    @property
    def drives(self) -> tuple[Drive, ...]:
        """Drives of the episode so far; () with ``paths=none``."""
        with self._lock:
            return tuple(self._current().drives)

    def floor_map(self) -> ObstacleMap:
        """Present obstacles for the robot's base on the floor [m]."""
        from sightplan_sim.household import driving
        with self._lock:
            return driving.floor_map(self._scene, self._current().home.rooms, self._body)

    @property
    def problem_name(self) -> str:
        """Name of the episode's problem."""
        with self._lock:
            return self._current().spec.problem.name

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        return self._camera.info(self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the home [m], now."""
        with self._lock:
            robot = self._current().robot
        return pose_matrix(robot.optical_axes, robot.eye)

    def overview(self, size: int = 480) -> NDArray[np.uint8]:
        """(size, size, 3) uint8: the home from above, over the walls, without the robot."""
        with self._lock:
            episode = self._current()
            self._pose(episode.robot)
            with self._painter.without(_hand(episode.robot)):
                return self._painter.draw(_bird(episode.home, size)).rgb

    def frame(self) -> tuple[Frame, dict[str, int]]:
        """A picture without labels, with the true segmentation.

        Returns:
            picture, and by the name of each object of the problem its id there.
        """
        with self._lock:
            episode = self._current()
            self._pose(episode.robot)
            shown = {name: number for number, name in enumerate(self._painter.names)}
            ids = {}
            for name in episode.spec.problem.objects:
                held = name == episode.robot.held
                number = shown.get(held_name(name) if held else name)
                if number is not None:
                    ids[name] = number
            return self._painter.draw(self._view(episode.robot)), ids

    # --- inside -------------------------------------------------------------------------------

    def _read_state(self, episode: _Episode) -> State:
        return episode.actions.state(episode.robot)

    def _build(self, problem: Problem) -> Home:
        """Build a home that starts in the problem's initial state."""
        if self.settings.instances == 'first':
            problem = dataclasses.replace(problem, name=re.sub(r'\d+\Z', '0', problem.name))
        key = (problem.name, repr((sorted(map(str, problem.init)), dict(problem.objects),
                                   problem.goal)))
        wrong = ''
        for attempt in range(HOME_TRIES):
            home = self._homes.get(key) or make_home(
                problem, self.settings.home + attempt * _NEXT_HOME)
            self._scene.build(home)
            # Without a view, by the work zone, in which nothing is yet: with navigation=reference
            # what is seen and near is reachable at the start, which no init can say.
            wrong = _unlike(problem, predicates.true_atoms(
                self._scene, Robot(self._body, home.start), problem))
            if not wrong:
                self._homes[key] = home
                while len(self._homes) > _HOMES_KEPT:
                    self._homes.popitem(last=False)
                return home
        raise WorldError(f'{problem.source or problem.name}: no home begins as (:init ...) says: '
                         f'{wrong} (change the fact, or the world option home)')

    def _drive(self, episode: _Episode, end: Station, target: str) -> None:
        """Record the robot's drive from its station to another one."""
        from sightplan_sim.household import driving
        start = episode.robot.station
        if (start.x, start.y) == (end.x, end.y):
            return
        step = episode.legal - 1
        seed = int(generator('household', episode.spec, f'paths {step}').integers(2**31))
        episode.drives.append(driving.drive(
            self.floor_map(), start, end, self._body.radius, self._vector, seed, step=step,
            target=target))

    def _view(self, robot: Robot) -> View[Camera]:
        return View(self._camera, robot.eye, robot.optical_axes)

    def _pose(self, robot: Robot) -> None:
        """Move the drawn bodies to their present poses."""
        for name in self._scene.movers:
            if name == robot.held:
                self._painter.hide([name])
            else:
                self._painter.move(name, self._scene.frames(name))
        model = self._scene.model(robot.held) if robot.held else None
        shown = gripper_poses(robot, model)
        self._painter.hide([held_name(name) for name in self._scene.things
                            if held_name(name) not in shown])
        for name, pose in shown.items():
            self._painter.move(name, [pose])

    def _visible(self, robot: Robot) -> frozenset[str]:
        """Names of the furniture and things in view."""
        key = (self._scene.version, robot.station, robot.held)
        if self._seen[0] != key:
            self._seen = (key, self._segmented(robot))
        return self._seen[1]

    def _segmented(self, robot: Robot) -> frozenset[str]:
        self._pose(robot)
        view = self._view(robot).sized(
            max(1, round(SEGMENT_PX * self._camera.width / self._camera.height)), SEGMENT_PX)
        with self._painter.without(_hand(robot)):
            ids = self._painter.segment(view)
        counts = np.bincount(ids[ids > 0], minlength=len(self._painter.names))
        pixels = {name: int(count) for name, count in zip(self._painter.names, counts, strict=True)
                  if count and name in self._scene.names}
        hulls = {name: predicates.hull_px(view, self._scene.box(name)) for name in pixels}
        found = predicates.visible(pixels, hulls, self.settings.visible_fraction)
        found -= self._covered(view, ids, found)
        return found | {robot.held} if robot.held else found

    def _covered(self, view: View[Camera], ids: NDArray[np.int32], found: frozenset[str],
                 ) -> frozenset[str]:
        """Subset of things that are entirely hidden behind the gripper and the held thing.

        Args:
            view: of the segmentation.
            ids: (H, W) of it without the hand.
            found: names of the things.
        """
        # The hand is drawn in the lower half.
        high = {self._painter.names[number] for number in np.unique(ids[:len(ids) // 2])}
        low = found - high
        if not low:
            return frozenset()
        shown = {self._painter.names[number] for number in np.unique(self._painter.segment(view))}
        return low - shown

    def _picture(self, episode: _Episode) -> Observation:
        robot = episode.robot
        seen = self._visible(robot)
        visible = tuple(name for name in episode.spec.problem.objects if name in seen)
        if not self.pictures:
            return Observation(image=self._digest(episode, seen), frame_id=self.settings.frame_id,
                               visible_objects=visible)
        self._pose(robot)
        frame = self._painter.draw(self._view(robot))
        image, depth = frame.rgb, frame.depth_m
        names = self._painter.names
        near = np.isin(frame.ids, [names.index(name) for name in _hand(robot)])
        depth[near] = np.nan  # drawn shrunk: no depth of theirs is true
        labelled = image
        if self.settings.labels:
            labelled = self._labelled(image, frame.ids, robot, visible)
        return Observation(image=labelled, frame_id=self.settings.frame_id, depth_m=depth,
                           visible_objects=visible,
                           unlabelled=None if labelled is image else image)

    def _labelled(self, image: NDArray[np.uint8], ids: NDArray[np.int32], robot: Robot,
                  visible: tuple[str, ...]) -> NDArray[np.uint8]:
        """The picture with name plates on visible objects whose category occurs several times."""
        categories = Counter(map(category_of, visible))
        names = self._painter.names
        boxes, others = [], []
        for name in visible:
            shown = held_name(name) if name == robot.held else name
            where = np.argwhere(ids == names.index(shown))
            if not len(where):
                continue
            hull = cv2.convexHull(where[:, ::-1].astype(np.float32))[:, 0].astype(np.float64)
            if categories[category_of(name)] > 1:
                boxes.append(LabelledBox(name, hull))
            else:
                others.append(hull)
        return draw_labels(image, boxes, others) if boxes else image

    def _digest(self, episode: _Episode, seen: frozenset[str]) -> NDArray[np.uint8]:
        """2x2 pixels of a hash over everything that a picture depends on: nothing out of view."""
        robot = episode.robot
        digest = hashlib.sha256(repr((
            episode.home.seed, self._camera, robot.station, robot.held, sorted(seen))).encode())
        for name in self._scene.movers:
            if name in seen:
                for origin, axes in self._scene.frames(name):
                    digest.update(np.round(np.append(origin, axes.ravel()), 6).tobytes())
        return np.frombuffer(digest.digest()[:12], np.uint8).reshape(2, 2, 3)


@dataclass(kw_only=True)
class _Episode(Episode):
    """State of one episode."""

    home: Home
    model: InstantiatedModel
    actions: Actions
    robot: Robot
    failures: np.random.Generator
    legal: int = 0
    drives: list[Drive] = field(default_factory=list)


def _checked(problem: Problem) -> Problem:
    """A problem of this world, with the domain's text if it came without.

    Raises:
        WorldError: it is another domain's, or says what no start of this world can be.
    """
    where = problem.source or problem.name
    if problem.domain != 'household':
        raise WorldError(f'{where}: a problem of domain {problem.domain!r}; this world shows '
                         'household')
    for atom in sorted(problem.init):
        if atom.predicate in ('reachable', 'holding'):
            raise WorldError(f'{where}: init has ({atom.predicate} {atom.args[0]}): at the start '
                             'nothing is in reach and the gripper is empty (leave it out)')
    if problem.domain_pddl:
        return problem
    return dataclasses.replace(problem, domain_pddl=load_domain('household').pddl)


def _vector(settings: Settings) -> Vector | None:
    """Wish for paths, as a vector; None without one.

    Raises:
        InputError: it is no vector, or there are no paths.
    """
    if not settings.path_vector:
        return None
    if settings.paths == 'none':
        raise InputError('path_vector: the robot drives along no paths (add paths=planned, or '
                         'leave path_vector out)')
    from sightplan_suites.paths import vector_from_text
    return vector_from_text(settings.path_vector, 'path_vector')


def _hand(robot: Robot) -> tuple[str, ...]:
    """Names of the bodies that show the gripper and the held thing."""
    return (*GRIPPER, held_name(robot.held)) if robot.held else GRIPPER


def _unlike(problem: Problem, state: State) -> str:
    """Explain in words how a state differs from a problem's init; '' if it does not.

    An init may say of two movable things one way only that they are next to each other.
    """
    movable = problem.of_type('movable')
    stated = problem.init | {
        Atom('nextto', atom.args[::-1]) for atom in problem.init
        if atom.predicate == 'nextto' and all(name in movable for name in atom.args)}
    missing, extra = sorted(stated - state), sorted(state - stated)
    said = [f'({atom}) does not hold' for atom in missing]
    said += [f'({atom}) holds, but is not said' for atom in extra]
    return '; '.join(said[:4])


def _bird(home: Home, size: int) -> View[Camera]:
    """View of the whole home from above and a little from the front."""
    low = np.array([room.low for room in home.rooms]).min(axis=0)
    high = np.array([room.high for room in home.rooms]).max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 + 0.3
    fov_deg, pitch = 40.0, math.radians(68.0)
    forward = np.array([0.0, math.cos(pitch), -math.sin(pitch)])
    right = np.array([1.0, 0.0, 0.0])
    way = half / math.tan(math.radians(fov_deg) / 2) + 1.5
    eye = np.append(middle, 0.8) - way * forward
    axes = np.column_stack([right, np.cross(forward, right), forward])
    return View(Camera(size, size, fov_deg), eye, axes)


def make_world(clock_ns: Callable[[], int] | None = None, **settings: Any) -> HouseholdWorld:
    """Make a world from fields of ``Settings``; the entry point ``household`` names this function.

    It is also a TruthSource. Close it, or use it in a ``with`` statement.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    check_names(Settings, settings, 'household')
    return HouseholdWorld(Settings(**settings), clock_ns)
