"""A grounded plan for a picture of one's own and a sentence: no annotation, no truth, no score.

The same methods, prompts and readers as in a run of the suite answer one sample that is made of
the picture. A plan is data: whatever of it cannot be carried out as it stands is a ``Fault``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.agent import answerer_settings
from sightplan.agent.grounded_plans import BY_MODEL
from sightplan.domains import load_domain
from sightplan.model import InputError, Region, user_path
from sightplan.model.depth_files import read_depth
from sightplan.model.grounded_plan import GroundedStep, Primitive
from sightplan.model.picture_files import read_image
from sightplan.model.query import Model, can_ask, traits_of
from sightplan.model.region import Form
from sightplan.model.sample import Picture, Sample, SampleData, SampleReply
from sightplan.queries import Detect, Generate
from sightplan.runs.sample_work import SampleRunner
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan.runs.suite_parts import Samples, Scored, SuitePrompt
from sightplan.vlm.api import backend_class, backend_settings, check_backend, resolved_options
from sightplan.vlm.recording import Recorded
from sightplan_suites.grounded_plan import reading
from sightplan_suites.grounded_plan.coordinates import Coords

SUITE, METHOD = 'grounded_plan', 'grounded_plan'
METHODS = (METHOD, 'ask', 'ask_cot', 'decoupled', 'set_of_marks')
"""Methods that plan for an instruction about a picture."""
ACCEPT = 0.05
"""Least probability of the things that are meant, as in episodes: else there is no plan."""
_DOMAIN, _SPLIT = 'tabletop', 'picture'
_LONGEST = 2000
"""Most characters of an instruction."""
_ROUNDING = 1e-3
"""Fraction of the picture by which a place may reach beyond it: the rounding of a thousandth."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A reason why a plan cannot be carried out as it stands.

    Attributes:
        step: number of the step, from 1.
        reason: what is wrong with it.
    """

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class PicturePlan:
    """A plan for a picture and a sentence.

    Attributes:
        instruction: the sentence.
        size: width and height of the picture [px].
        steps: the plan, none where there is none.
        faults: what of it cannot be carried out, in the order of the steps.
        model: exact names of all models that had a part in it.
        method: name of the method, with its options.
        notes: what a reader of the plan should know, such as what a model was made for.
        text: reply of the model that planned, '' where a planner of ours did.
        probability: that the things meant are right, None where nothing tells.
        missing: why there is no plan, '' if there is one.
    """

    instruction: str
    size: tuple[int, int]
    steps: tuple[GroundedStep, ...]
    faults: tuple[Fault, ...]
    model: str
    method: str
    notes: tuple[str, ...] = ()
    text: str = ''
    probability: float | None = None
    missing: str = ''

    @property
    def usable(self) -> bool:
        """Whether there is a plan without faults."""
        return bool(self.steps) and not self.faults

    def fault_of(self, number: int) -> str:
        """Return the reasons why a step cannot be carried out; '' where it can."""
        return '; '.join(fault.reason for fault in self.faults if fault.step == number)


def plan_picture(picture: str | Path | NDArray[np.uint8], instruction: str, *,
                 backend: str = 'embedded', backend_options: Mapping[str, Any] | None = None,
                 method: str = METHOD, method_options: Mapping[str, Any] | None = None,
                 coords: str = 'permille_xyxy', depth: str | Path | None = None,
                 record: str | Path | None = None) -> PicturePlan:
    """Plan for a sentence about a picture.

    Args:
        picture: a file, or (H, W, 3) uint8 RGB.
        instruction: the sentence.
        backend: name of the backend.
        backend_options: its settings.
        method: one of ``METHODS``.
        method_options: its settings. Of the method ``grounded_plan``, unless they are given,
            ``reader`` is ``model`` where the backend writes, and ``accept`` is ``ACCEPT``.
        coords: convention of places that a model is asked for, one of ``Coords``.
        depth: of the picture: a file (.npy in metres, or 16-bit PNG in millimetres).
        record: file to which all queries and replies are written, for the backend ``replay``.

    Raises:
        InputError: an argument or file cannot be used; names it and the remedy.
        BackendError: the model could not be loaded.
    """
    words = instruction.strip()
    if not words or len(words) > _LONGEST:
        raise InputError(f'the sentence has {len(words)} characters; say in 1 to {_LONGEST} what '
                         'is to be done, such as "put the red mug on the tray"')
    if method not in METHODS:
        raise InputError(f'method {method!r} plans for no picture; choose one of '
                         f'{", ".join(METHODS)}')
    image = picture if isinstance(picture, np.ndarray) else read_image(user_path(picture))
    depth_m = _depth(depth, image)
    kind = backend_class(backend)
    if traits_of(kind).truth:
        raise InputError(f'backend {backend!r} answers from the truth, which is not known of a '
                         'picture; choose one that looks at it')
    options = dict(method_options or {})
    check_backend(backend, Detect if method == METHOD else Generate, None, backend_options)
    if method == METHOD:
        options.setdefault('reader', BY_MODEL if can_ask(kind, Generate) else 'words')
        options.setdefault('accept', ACCEPT)
    settings = RunSettings(
        suite=SUITE, split=_SPLIT, method=method, backend=backend, method_options=options,
        backend_options=resolved_options(backend, backend_options or {}, 0,
                                         domain=load_domain(_DOMAIN)))
    settings.check()
    height, width = image.shape[:2]
    sample = _sample(image, depth_m, words, Coords(coords))
    with ExitStack() as stack:
        line = _answered(SampleRunner(settings, _OnePicture(sample)), record, stack)
    steps = tuple(map(GroundedStep.from_json, line['answer'] or ()))
    return PicturePlan(
        words, (width, height), steps, tuple(_faults(steps, (width, height))), line['model'],
        _in_words(method, options), tuple(_notes(backend, method, options, steps)),
        line['reply'], line['p_right'], line['error'] or line['unread'])


def _depth(depth: str | Path | None, image: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    if depth is None:
        return None
    found = read_depth(user_path(depth))
    if found.shape != image.shape[:2]:
        raise InputError(f'{depth}: is of shape {found.shape}, the picture of shape '
                         f'{image.shape[:2]}; give depth that is aligned with the picture')
    return found


def _sample(image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None, instruction: str,
            coords: Coords) -> Sample:
    """The picture and the sentence as a sample of the suite."""
    height, width = image.shape[:2]
    shown = Picture('picture', lambda: image, None if depth_m is None else lambda: depth_m)
    text = f'Instruction: {instruction}\n\nCoordinates: {coords.words((width, height))}'
    return Sample(_SPLIT, _SPLIT, _SPLIT, (shown, text), told=('instruction', 'image_size'),
                  details={'instruction': instruction, 'image_size': [width, height],
                           'coords': str(coords)})


def _answered(runner: SampleRunner, record: str | Path | None, stack: ExitStack,
              ) -> Mapping[str, Any]:
    """The line of the one sample of a run."""
    runner.open(stack)
    settings, options = runner.plan.settings, runner.plan.model_options()
    if options is not None:
        made: Model = runner.load(options, None, stack)
        if record is not None:
            runner.load(options, stack.enter_context(closing(Recorded(
                made, user_path(record), name=settings.backend,
                settings=backend_settings(settings.backend, options)))), stack)
    line, = runner.make(runner.plan.items, lambda: False)
    return line


class _OnePicture(Suite):
    """The suite with one sample of somebody's own, about which no truth is known."""

    name, title, splits = SUITE, 'A picture of your own', (_SPLIT,)

    def __init__(self, sample: Sample) -> None:
        self._item = sample

    def samples(self, split: str, options: Mapping[str, Any]) -> Samples:
        return Samples((self._item,), lambda name: None, {})

    def prompt(self, name: str) -> SuitePrompt:
        return load_suite(SUITE).prompt(name)

    def read(self, text: str, sample: Sample) -> Any:
        return reading.read(text, sample)

    def compose(self, sample: Sample, data: SampleData) -> Any:
        return load_suite(SUITE).compose(sample, data)

    def measures(self, kind: str) -> tuple[()]:
        return ()

    def score(self, sample: Sample, answer: Any, truth: Any, reply: SampleReply) -> Scored:
        return Scored({})


# ---------------------------------------------------------------------------------------- faults


def _faults(steps: Sequence[GroundedStep], size: tuple[int, int]) -> Iterator[Fault]:
    """Yield the faults of a plan: steps that cannot be carried out, each with its reason."""
    units, _ = reading.units_of(steps)
    unpaired = {unit.steps[0]: unit.wrong for unit in units if unit.wrong}
    for number, step in enumerate(steps):
        if step.primitive is None:
            yield Fault(number + 1, f'{step.action or "no action"!r} is none of '
                        f'{", ".join(Primitive)}')
            continue
        if unpaired.get(number) == reading.UNPAIRED_GRASP:
            yield Fault(number + 1, 'what is grasped is not placed before the next grasp '
                        'or the end of the plan')
        if unpaired.get(number) == reading.UNPAIRED_PLACE:
            yield Fault(number + 1, 'nothing is held that could be placed')
        if wrong := _wrong_place(step, size):
            yield Fault(number + 1, wrong)


def _wrong_place(step: GroundedStep, size: tuple[int, int]) -> str:
    """Why the place of a step is none in the picture, '' if it is one."""
    wanted = Form.POINT if step.primitive is Primitive.PLACE else Form.BOX
    region = step.region
    if region is None:
        return f'it has no {wanted} that can be read'
    if region.form is not wanted:
        return f'its place is a {region.form}, where {step.primitive} needs a {wanted}'
    numbers = ', '.join(f'{value:g}' for value in pixels_of(region, size))
    if not all(-_ROUNDING <= value <= 1 + _ROUNDING for point in region.points
               for value in point):
        return (f'its {wanted} [{numbers}] lies outside the picture of {size[0]} x {size[1]} '
                'pixels' if _outside(region) else
                f'its {wanted} [{numbers}] reaches beyond the picture of {size[0]} x {size[1]} '
                'pixels')
    if wanted is Form.BOX and not all(low < high for low, high in zip(*region.points,
                                                                      strict=True)):
        return f'its box [{numbers}] is out of order, or has no area'
    return ''


def _outside(region: Region) -> bool:
    """Whether no part of a region lies in the picture."""
    return any(max(values) < 0 or min(values) > 1 for values in zip(*region.points, strict=True))


def pixels_of(region: Region, size: tuple[int, int]) -> list[float]:
    """The numbers of a region in pixels, x first, to a tenth."""
    return [round(value * edge, 1) for point in region.points
            for value, edge in zip(point, size, strict=True)]


# ----------------------------------------------------------------------------------------- notes


def _in_words(method: str, options: Mapping[str, Any]) -> str:
    """A method with those of its options that were set."""
    return ' '.join((method, *(f'{name}={value}' for name, value in options.items())))


def _notes(backend: str, method: str, options: Mapping[str, Any], steps: Sequence[GroundedStep],
           ) -> Iterator[str]:
    """Yield cautions about a plan: what its models were made for, and odd orders of steps."""
    named = asdict(answerer_settings(method, options))
    others = [str(named[name]).split()[0] for name in ('grasps', 'places', 'marks')
              if named.get(name)]
    for name in dict.fromkeys((backend, *others)):
        try:
            made_for = traits_of(backend_class(name)).made_for
        except InputError:  # the run's own model, or a file
            continue
        if made_for:
            yield f'{name} {made_for}'
    if reading.units_of(steps)[1]:
        yield 'something else is done while a thing is held'
