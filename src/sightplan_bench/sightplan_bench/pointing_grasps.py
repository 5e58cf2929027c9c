"""``sightplan bench pointing``: things that are named are found by a pointer, grasped and lifted.

Each scene is a table with 6 to 12 household things, look-alikes among them, before a simulated
arm: grasps hold by friction, the camera hangs a little beside where it is thought to, and its
depth has errors. One thing is named in words that mean it alone ("the red mug"); it is drawn from
those that a gripper which opens 8 cm can lift by their shape (``is_graspable``; no plates, trays,
books and chests) and of which enough is in view. Each pointer chooses a piece of the picture, and
the arm takes it:

- ``point``: one point of a simulated model with a published hit rate;
- ``believing``: the same model, asked up to nine times (``Pointer``), which may abstain;
- ``embedded``: our own locator, asked likewise;
- ``shown``: the piece that shows most of the thing. What is not lifted then is the arm's fault.

Told apart are: the named thing is lifted; a wrong one is; nothing is; something was dropped;
nothing was done (abstained). A piece that several pointers choose is grasped once, as the same
scene and piece give the same bits.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightplan.commands.flags import option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    print_table,
    read_options,
    stop_flag,
)
from sightplan.console.progress import EpisodeBar
from sightplan.model import Form, InputError, Region, Target, TargetMasks, WorldError
from sightplan.model.journal import Journal
from sightplan.model.region import Mask

if TYPE_CHECKING:
    from sightplan_arm.hardware import Rgbd
    from sightplan_belief.pointing import Located, Pieces, Pointer
    from sightplan_sim.tabletop.arm_world import TabletopArmWorld
    from sightplan_sim.tabletop.render import Frame
    from sightplan_sim.tabletop.table import Table

LINES, PLAN = 'scenes.jsonl', 'plan.json'
POINTERS = ('point', 'believing', 'embedded', 'shown')
LIFTED, WRONG, NOTHING, DROPPED, ABSTAINED = 'lifted', 'wrong', 'nothing', 'dropped', 'abstained'
OUTCOMES = (LIFTED, WRONG, NOTHING, DROPPED, ABSTAINED)
"""Outcomes of "grasp the <thing>": the named thing is lifted; another one is, alone or with it;
nothing is; something was lifted and fell; nothing was tried."""
_PRESENT = 0.99
"""Probability beforehand that the named thing is there; all are."""
LEAST_PIXELS = 150
"""Things with fewer visible pixels are not named."""
ERRORS = {'calibration_error_mm': 2.0, 'calibration_error_deg': 0.2, 'depth_noise_mm': 2.0}
"""Errors of the camera, unless the world's options set others."""
SETTLE_S = 0.5
"""Time for which a thing must have been held to count as lifted [s]."""

_EXAMPLES = """\
examples:
  sightplan bench pointing --scenes 20
  sightplan bench pointing --pointer shown --pointer believing --out runs/pointing --json
  sightplan bench pointing --world-option calibration_error_mm=5 --repeat 0.8
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of the measurement.

    Attributes:
        first: seed of the first table.
        pointers: names of those that choose.
        askings: most of one thing.
        table: whose published hit rate the simulated model has.
        repeat: probability that it says the same again.
        confusable: probability that its misses lie on another thing.
        check: probability that it answers rightly whether a marked thing is meant.
        knowledge: ``known``: its rates are known; ``told``: nothing is known at first, and after
            each grasp somebody tells whether it was the right thing; ``none``: nothing ever is.
        seed: of its errors.
        world: options of the world.
    """

    first: int = 0
    pointers: tuple[str, ...] = POINTERS
    askings: int = 9
    table: str = 'molmo-7b'
    repeat: float = 0.45
    confusable: float = 0.5
    check: float = 0.9
    knowledge: str = 'known'
    seed: int = 0
    world: tuple[tuple[str, Any], ...] = tuple(ERRORS.items())

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON data."""
        return {name: getattr(self, name) for name in self.__slots__ if name != 'world'} | {
            'pointers': list(self.pointers), 'world': dict(self.world)}


@dataclass(frozen=True, eq=False)
class Sight:
    """A scene before anything moves.

    Attributes:
        table: what is on it.
        name: of the thing that is named.
        text: what it is called.
        rgbd: the picture.
        frame: the same with the truth.
        pieces: of the picture.
    """

    table: Table
    name: str
    text: str
    rgbd: Rgbd
    frame: Frame
    pieces: Pieces

    @property
    def camera(self) -> tuple[float, float, float, float]:
        """Intrinsics fx, fy, cx, cy [px], from the top left pixel's corner."""
        return camera_of(self.rgbd)

    def mask(self, name: str) -> Mask:
        """(H, W) pixels of a thing."""
        index = [one.name for one in self.table.things].index(name)
        return np.asarray(self.frame.things == index)

    def thing_at(self, where: Mask | Region) -> str:
        """The thing that some pixels, or a region, show most of; '' for none."""
        height, width = self.frame.things.shape
        if isinstance(where, Region):
            (column, row), = Region(Form.POINT, (where.centre,)).pixels(width, height)
            if not (0 <= row < height and 0 <= column < width):
                return ''
            index = int(self.frame.things[row, column])
            return self.table.things[index].name if index >= 0 else ''
        shown = self.frame.things[where]
        counts = np.bincount(shown[shown >= 0], minlength=len(self.table.things))
        return self.table.things[int(counts.argmax())].name if counts.any() else ''


class SceneTruth:
    """A ``MaskSource`` for the scene that is asked about."""

    def __init__(self) -> None:
        self.sight: Sight | None = None

    def masks(self, target: str) -> TargetMasks:
        """True masks of the named thing and of the others.

        Raises:
            InputError: another thing is asked about.
        """
        sight = self.sight
        if sight is None or target != sight.text:
            raise InputError(f'nothing is known of {target!r}')
        others = [sight.mask(one.name) for one in sight.table.things if one.name != sight.name]
        return TargetMasks(sight.mask(sight.name), tuple(mask for mask in others if mask.any()))


def camera_of(rgbd: Rgbd) -> tuple[float, float, float, float]:
    """Intrinsics fx, fy, cx, cy of a picture [px], from the top left pixel's corner."""
    k = rgbd.matrix
    return float(k[0, 0]), float(k[1, 1]), float(k[0, 2]) + 0.5, float(k[1, 2]) + 0.5


class Scenes:
    """Lays tables, and names a thing on each.

    Args:
        world: where.
    """

    def __init__(self, world: TabletopArmWorld) -> None:
        self._world = world

    def show(self, seed: int) -> Sight | None:
        """Scene of a seed; None if nothing on the table can be named and grasped."""
        from sightplan_belief.pointing import propose_pieces
        from sightplan_sim.tabletop.graspable import is_graspable
        from sightplan_sim.tabletop.table import sample_table
        from sightplan_sim.tabletop.tasks import Asker
        from sightplan_sim.tabletop.visible import Visible
        table = sample_table(seed, True)
        self._world.reset(table)
        frame = self._world.frame()
        rng = np.random.default_rng([seed, 719])
        asker = Asker(Visible(table, frame), rng)
        able = [one for one in asker.nameable() if is_graspable(one.thing)
                and int((frame.things == table.things.index(one)).sum()) >= LEAST_PIXELS]
        if not able:
            return None
        chosen = able[int(rng.integers(len(able)))]
        rgbd = self._world.camera.observe()
        pieces = propose_pieces(rgbd.rgb, rgbd.depth_m, camera_of(rgbd))
        return Sight(table, chosen.name, asker.name(chosen.name), rgbd, frame, pieces)


class Choosers:
    """The pointers of a plan.

    Args:
        plan: what they are like.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._truth = SceneTruth()
        self._pointers: dict[str, Pointer] = {}

    def choose(self, name: str, sight: Sight) -> tuple[Mask | Region | None, dict[str, Any]]:
        """Choose a piece, or a place beside all pieces; None to abstain.

        Returns:
            that, and figures for the scene's line.
        """
        if name == 'shown':
            wanted = sight.mask(sight.name)
            pieces = sight.pieces
            ious = [float((mask & wanted).sum() / (mask | wanted).sum())
                    for mask in map(pieces.mask, range(pieces.count))]
            best = int(np.argmax(ious)) if ious else -1
            return (pieces.mask(best) if best >= 0 and ious[best] > 0 else None), {
                'iou': round(max(ious, default=0.0), 3)}
        from sightplan.queries.locate import Locate
        self._truth.sight = sight
        query = Locate(sight.rgbd.rgb, Target(sight.text), sight.rgbd.depth_m)
        found = self._pointer(name).locate(query, sight.camera, sight.pieces)
        self._last = name, found
        figures = {'probability': round(found.probability, 4), 'sure': found.sure,
                   'askings': found.askings, 'checks': found.checks}
        if not found.regions or (name != 'point' and found.abstained):
            return None, figures
        return (found.mask if found.mask is not None else found.regions[0]), figures

    def tell(self, right: bool | None) -> None:
        """Tell the last chooser whether its choice was the named thing."""
        name, found = self._last
        if self._plan.knowledge == 'told':
            self._pointer(name).learn(found, right)

    _last: tuple[str, Located]

    def _pointer(self, name: str) -> Pointer:
        if name not in self._pointers:
            self._pointers[name] = self._make(name)
        return self._pointers[name]

    def _make(self, name: str) -> Pointer:
        from sightplan.model.pointer_settings import PointerSettings
        from sightplan.vlm.api import make_backend
        from sightplan_belief.pointing import Pointer
        plan = self._plan
        if name == 'embedded':
            backend = make_backend('embedded', {})
            return Pointer(backend, PointerSettings(max_askings=plan.askings,
                                                    prior_present=_PRESENT))
        options = {'table': plan.table, 'repeat': plan.repeat, 'confusable': plan.confusable,
                   'check_accuracy': plan.check, 'silent': 0.0, 'seed': plan.seed}
        noisy = make_backend('noisy_locator', options, truth=self._truth)
        if name == 'point':
            return Pointer(noisy, PointerSettings(max_askings=1, checks=False,
                                                  prior_present=_PRESENT))
        return Pointer(noisy, PointerSettings(max_askings=plan.askings, prior_present=_PRESENT),
                       self._known())

    def _known(self) -> Any:
        """Known reliability of the simulated model; None if nothing is known."""
        from sightplan_belief.pointing import CheckerRates, PointerRates, Reliability
        from sightplan_belief.pointing.reliability import PUBLISHED
        plan = self._plan
        if plan.knowledge != 'known':
            return None
        return Reliability(
            PointerRates.known(PUBLISHED[plan.table], plan.repeat, plan.confusable, 0.0),
            CheckerRates.known(plan.check, plan.check, plan.repeat),
            Reliability.default().places)


class Bench:
    """Runner of scenes.

    Args:
        plan: what is measured.
        world: where.
    """

    def __init__(self, plan: Plan, world: TabletopArmWorld) -> None:
        self._plan, self._world = plan, world
        self._scenes, self._choosers = Scenes(world), Choosers(plan)

    def run(self, seed: int) -> dict[str, Any]:
        """Run a scene; returns its line of results."""
        sight = self._scenes.show(seed)
        if sight is None:
            return {'seed': seed, 'skipped': 'nothing on the table can be named and grasped'}
        line: dict[str, Any] = {
            'seed': seed, 'id': sight.table.id, 'target': sight.name, 'text': sight.text,
            'category': sight.table.named(sight.name).thing.category,
            'things': len(sight.table.things), 'pieces': sight.pieces.count, 'pointers': {}}
        done: dict[str, dict[str, Any]] = {}
        for name in self._plan.pointers:
            where, figures = self._choosers.choose(name, sight)
            if where is None:
                line['pointers'][name] = {**figures, 'chosen': '', 'right': False,
                                          'outcome': ABSTAINED}
                right = None
            else:
                chosen = sight.thing_at(where)
                key = _digest(where)
                if key not in done:
                    done[key] = self._grasp(sight, where)
                right = chosen == sight.name
                line['pointers'][name] = {**figures, 'chosen': chosen, 'right': right,
                                          **done[key]}
            if name != 'shown':
                self._choosers.tell(right)
        return line

    def _grasp(self, sight: Sight, where: Mask | Region) -> dict[str, Any]:
        """Grasp the choice, from the scene as it was, and return the outcome."""
        world = self._world
        world.reset(sight.table)
        cpu_s, arm_s = time.process_time(), world.arm.now_s()
        try:
            report = world.skills.grasp_at(where, sight.text).report
            cause, message = report.cause, report.message
        except WorldError as error:
            cause, message = 'error', f'{type(error).__name__}: {error}'
        world.arm.wait(SETTLE_S)
        truth = world.truth()
        return {'outcome': outcome_of(sight.name, truth.lifted, truth.dropped), 'cause': cause,
                'message': message, 'lifted': list(truth.lifted),
                'dropped': list(truth.dropped), 'displaced': list(truth.displaced),
                'arm_s': round(world.arm.now_s() - arm_s, 2),
                'cpu_s': round(time.process_time() - cpu_s, 2)}


def outcome_of(name: str, lifted: Sequence[str], dropped: Sequence[str]) -> str:
    """Outcome of "grasp the <thing>", by the truth.

    Args:
        name: of the thing.
        lifted: names of what is held up.
        dropped: names of what was up and is not any more.
    """
    if any(one != name for one in lifted):
        return WRONG
    if lifted:
        return LIFTED
    return DROPPED if dropped else NOTHING


def _digest(where: Mask | Region) -> str:
    if isinstance(where, Region):
        return json.dumps(where.to_json()['points'])
    return hashlib.sha256(np.packbits(where).tobytes()).hexdigest()


# --- figures ------------------------------------------------------------------------------------


def describe(lines: Sequence[Mapping[str, Any]], pointers: Sequence[str]) -> dict[str, Any]:
    """Figures of some scenes.

    Returns:
        for each pointer ``n``; ``chosen``: how often the named thing was chosen, ``chosen_rate``
        and ``chosen_interval95`` (Wilson); ``lifted_of_chosen`` with its rate and interval: lifted
        of those chosen rightly; ``outcomes`` of all, and their rates; ``causes`` by the robot's
        reports; means of ``askings`` and ``checks``; and ``by_category``: of those chosen rightly,
        lifted and all.
    """
    counted = [line for line in lines if 'skipped' not in line]
    found: dict[str, Any] = {'scenes': len(counted), 'skipped': len(lines) - len(counted)}
    for name in pointers:
        mine = [(line, line['pointers'][name]) for line in counted if name in line['pointers']]
        right = [(line, one) for line, one in mine if one['right']]
        up = [(line, one) for line, one in right if one['outcome'] == LIFTED]
        outcomes = Counter(one['outcome'] for _, one in mine)
        kinds = sorted({line['category'] for line, _ in right})
        found[name] = {
            'n': len(mine), 'chosen': len(right), **_rate('chosen', len(right), len(mine)),
            'lifted_of_chosen': len(up), **_rate('lifted_of_chosen', len(up), len(right)),
            'lifted': outcomes[LIFTED], **_rate('lifted', outcomes[LIFTED], len(mine)),
            'outcomes': {kind: outcomes[kind] for kind in OUTCOMES},
            'causes': dict(Counter(one.get('cause', ABSTAINED) for _, one in mine).most_common()),
            **{f'{what}_mean': round(float(np.mean([one[what] for _, one in mine])), 2)
               for what in ('askings', 'checks') if mine and what in mine[0][1]},
            'by_category': {kind: {
                'lifted': sum(line['category'] == kind for line, _ in up),
                'n': sum(line['category'] == kind for line, _ in right)} for kind in kinds},
            'failed': [f'{line["id"]} {line["text"]}: {one["outcome"]} ({one["cause"]}) '
                       f'{one["message"]}' for line, one in right if one['outcome'] != LIFTED]}
    return found


def _rate(name: str, successes: int, n: int) -> dict[str, Any]:
    from sightplan.metrics.intervals import wilson
    return {f'{name}_rate': round(successes / n, 4) if n else None,
            f'{name}_interval95': [round(end, 4) for end in wilson(successes, n)] if n else None}


# --- the command --------------------------------------------------------------------------------


_USUAL = Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Arguments of ``sightplan bench pointing``."""

    scenes: int = option(300, 'scenes with something to grasp', low=1)
    first: int = option(
        _USUAL.first, 'of the first table; those after it follow', low=0, metavar='SEED')
    pointer: tuple[str, ...] = option(
        (), 'who chooses (repeatable; default: all that can be had)', metavar='NAME',
        choices=POINTERS)
    askings: int = option(_USUAL.askings, 'most askings about one thing', low=1)
    table: str = option(
        _USUAL.table, 'whose published hit rate the simulated model has', metavar='MODEL')
    repeat: float = option(
        _USUAL.repeat, 'probability that it says the same again', low=0.0, high=1.0, metavar='P')
    confusable: float = option(
        _USUAL.confusable, 'probability that a miss of it is another thing', low=0.0, high=1.0,
        metavar='P')
    check: float = option(
        _USUAL.check, 'probability that it answers a check rightly', low=0.0, high=1.0,
        metavar='P')
    knowledge: str = option(
        _USUAL.knowledge, 'of the simulated model: its rates; nothing, but after each grasp it '
        'is told whether the thing was right; or nothing', choices=('known', 'told', 'none'))
    seed: int = option(_USUAL.seed, "of the simulated model's errors")
    world_option: tuple[str, ...] = option(
        (), 'setting of the simulated world (repeatable; default: '
        f'{", ".join(f"{key}={value:g}" for key, value in ERRORS.items())})', metavar='KEY=VALUE')
    out: str | None = option(
        None, 'directory of the results; the same command takes it up again (default: '
        'runs/<time>-bench-pointing)', metavar='DIR')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan bench pointing``."""
    add_command(
        subparsers, 'pointing', measure,
        'named things are pointed at, grasped and lifted by a simulated arm', __doc__,
        settings=Arguments, examples=_EXAMPLES, exits='0 done; 1 scenes are missing; 2 bad usage',
        kept='finished scenes are kept')


def measure(arguments: Arguments) -> Result:
    """Run the scenes, and print the result."""
    from sightplan_sim.tabletop.arm_world import Settings, TabletopArmWorld
    plan = _plan(arguments, Settings)
    out = Path(arguments.out or time.strftime('runs/%Y%m%d-%H%M%S-bench-pointing'))
    journal = _take_up(out, plan)
    lines = [line.data for line in journal.read()]
    with (stop_flag() as stop, EpisodeBar() as bar,
          TabletopArmWorld(Settings(**dict(plan.world))) as world, journal):
        bar.say(f'results: {out}')
        bench = Bench(plan, world)
        if plan.knowledge == 'told' and lines:
            raise InputError(f'{out}: what was told before is not kept; choose another --out')
        bar.begin('scenes', arguments.scenes, _usable(lines))
        journal.open()
        journal.take_up()
        while _usable(lines) < arguments.scenes and not stop():
            line = bench.run(plan.first + len(lines))
            journal.append(line)
            lines.append(line)
            _progress(bar, lines, plan)
    result = {'out': str(out), 'plan': plan.to_json(), 'cpus': os.cpu_count(),
              **describe(lines, plan.pointers)}
    _show(result, plan.pointers)
    missing = arguments.scenes - _usable(lines)
    if missing > 0:
        note(f'sightplan bench pointing: {missing} scenes are missing; the same command with '
             f'--out {out} goes on from there')
    return result, FAILED if missing > 0 else DONE


def _plan(arguments: Arguments, settings: Callable[[], Any]) -> Plan:
    """The plan of a command line.

    Raises:
        InputError: an argument is wrong.
    """
    from sightplan_belief.pointing.reliability import PUBLISHED
    if arguments.table not in PUBLISHED:
        raise InputError(f'--table {arguments.table}: unknown model (known: '
                         f'{", ".join(PUBLISHED)})')
    world = {**ERRORS, **read_options(arguments.world_option, type(settings()),
                                      '--world-option')}
    return Plan(arguments.first, tuple(arguments.pointer or _available()), arguments.askings,
                arguments.table, arguments.repeat, arguments.confusable, arguments.check,
                arguments.knowledge, arguments.seed, tuple(sorted(world.items())))


def _available() -> tuple[str, ...]:
    """All pointers, but for ``embedded`` where no network that locates is installed."""
    from sightplan_models.embedded import locator_is_shipped
    return tuple(name for name in POINTERS if name != 'embedded' or locator_is_shipped())


def _take_up(out: Path, plan: Plan) -> Journal:
    """Open the journal of a run, new or to be continued.

    Raises:
        InputError: another plan was begun there.
    """
    from sightplan.model.whole_files import replacing
    out.mkdir(parents=True, exist_ok=True)
    wanted = json.loads(json.dumps(plan.to_json()))
    path = out / PLAN
    if path.exists():
        if json.loads(path.read_text('utf-8')) != wanted:
            raise InputError(f'{path}: results of other settings are there; choose another --out')
    else:
        with replacing(path) as file:
            file.write_text(json.dumps(wanted, indent=2), 'utf-8')
    return Journal(out / LINES)


def _usable(lines: Sequence[Mapping[str, Any]]) -> int:
    return sum('skipped' not in line for line in lines)


def _progress(bar: EpisodeBar, lines: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    texts = []
    for name in plan.pointers:
        mine = [line['pointers'][name] for line in lines if 'skipped' not in line]
        texts.append(f'{name} {sum(one["right"] for one in mine)}/'
                     f'{sum(one["outcome"] == LIFTED for one in mine)}')
    text = f'chosen/lifted: {", ".join(texts)}'
    bar.update(_usable(lines), text)
    if bar.plain:
        bar.say(f'[{bar.done}/{bar.total}] {text}, ETA {bar.time_left}')


def _show(result: Mapping[str, Any], pointers: Sequence[str]) -> None:
    """Print figures as tables."""
    def rate(one: Mapping[str, Any], name: str) -> str:
        if one[f'{name}_rate'] is None:
            return '-'
        low, high = one[f'{name}_interval95']
        return f'{one[f"{name}_rate"]:.3f} ({low:.3f}-{high:.3f})'

    print_table(('pointer', 'n', 'named thing chosen', 'lifted of those', 'lifted of all',
                 *OUTCOMES[1:], 'askings', 'checks'), [
        (name, one['n'], rate(one, 'chosen'), rate(one, 'lifted_of_chosen'), rate(one, 'lifted'),
         *(one['outcomes'][kind] for kind in OUTCOMES[1:]), one.get('askings_mean', '-'),
         one.get('checks_mean', '-'))
        for name, one in ((name, result[name]) for name in pointers)],
        f'grasp the <thing>: {result["scenes"]} scenes, {result["skipped"]} skipped')
    for name in pointers:
        for text in result[name]['failed']:
            note(f'{name}: {text}')
