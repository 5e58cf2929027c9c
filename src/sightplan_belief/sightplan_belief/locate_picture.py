"""Search for things in a picture.

Example::

    found = locate('desk.png', ['the red mug', 'the handle of the pan'])
    for thing in found:
        print(thing.target.text, thing.regions, thing.probability, thing.sure)
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    BackendError,
    DeadlineError,
    Form,
    InputError,
    Region,
    Target,
    check_settings,
    user_path,
)
from sightplan.model.depth_files import read_depth
from sightplan.model.picture_files import checked_rgb, read_image
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Model, ask_one, part_name, traits_of
from sightplan.model.region import PLAIN_WORDING, PlaceWording, Point
from sightplan.model.whereabouts import Whereabouts, is_foreign
from sightplan.queries.locate import Locate, LocateReply
from sightplan.vlm.api import (
    ModelUser,
    backend_class,
    backend_settings,
    check_backend,
    make_checked_backend,
    resolved_options,
)
from sightplan.vlm.recording import Recorded
from sightplan_belief.pointing import Located, Pieces, Pointer, Reliability, propose_pieces
from sightplan_belief.pointing.asking import CANNOT_TELL, doubt_of, whereabouts_of
from sightplan_belief.pointing.depth_pieces import Camera
from sightplan_belief.pointing.places import UNTOLD

_USUAL = PointerSettings()


@dataclass(frozen=True, slots=True)
class Found:
    """Result of looking for a target in a picture.

    Where it cannot be told whether the target is there, no number stands for an answer: there is
    no ``probability``, also of the regions, which are guesses, and ``sure`` is False.

    Attributes:
        target: what was looked for.
        regions: in unit coordinates, the best first; none: it is not there, or ``reason`` says
            why it cannot be told.
        probability: that the target exists and is at the first region; without any, that the
            target is not there; None where nobody offers one, or it cannot be told.
        sure: whether the probability is at least what was to be accepted, a check confirmed that
            the target is there, and the model knows every word of it.
        unread: why what the model said cannot be used, or that it failed on this target while it
            answered others; '' if it can be used.
        text: what the model said at first; '' for a model that does not speak.
        askings: how often it was asked to point.
        checks: how often it was asked whether a marked place is right, or whether there is such
            a thing.
        model: exact name of the model that answered.
        doubt: why it is not sure, in words; '' if it is, or if ``unread``.
        unknown: words of the target that the model does not know.
        present: probability that the target is in the picture, wherever; None where nobody
            offers one, and where what the model said is no evidence on it.
    """

    target: Target
    regions: tuple[Region, ...] = ()
    probability: float | None = None
    sure: bool = False
    unread: str = ''
    text: str = ''
    askings: int = 0
    checks: int = 0
    model: str = ''
    doubt: str = ''
    unknown: tuple[str, ...] = ()
    present: float | None = None

    def __post_init__(self) -> None:
        """Clear all probabilities where it cannot be told whether the target is there."""
        if self.whereabouts is not Whereabouts.CANNOT_TELL:
            return
        guesses = tuple(replace(region, probability=None) for region in self.regions)
        object.__setattr__(self, 'regions', guesses)
        object.__setattr__(self, 'probability', None)
        object.__setattr__(self, 'sure', False)
        if self.unread or self.unknown:
            object.__setattr__(self, 'present', None)

    @property
    def whereabouts(self) -> Whereabouts:
        """Answer: here, not here, or that it cannot be told, for which ``reason`` has why."""
        return whereabouts_of(self.regions, self.unread, self.unknown, self.doubt)

    @property
    def reason(self) -> str:
        """Why it cannot be told whether the target is there; '' if it can."""
        if self.whereabouts is not Whereabouts.CANNOT_TELL:
            return ''
        return self.unread or self.doubt.removeprefix(CANNOT_TELL)


class BackendLocator(ModelUser):
    """Locate things by a model that can point.

    It is asked several times, and what it says is weighed (``Pointer``); once only, and taken at
    its word, with ``max_askings`` = 1 and for a trace. A model that cannot check a place
    (``queries.Check``) is not asked whether places are right: it would not know such a
    question. Then nothing is sure, unless it tells apart from pointing whether such a thing
    exists (``LocateReply.exists``).

    Args:
        name: of the backend.
        model: see ``make_backend``.
        reliability: of the model; None: nothing is known of it.

    Raises:
        InputError: it cannot point; names those that can.
    """

    def __init__(self, name: str, model: Model,
                 reliability: Reliability | None = None) -> None:
        super().__init__(model)
        check_backend(name, Locate, model)
        self._reliability = reliability

    @property
    def model(self) -> str:
        """Exact name and version of the model that points."""
        return part_name(self._model, Locate)

    def locate(self, image: NDArray[np.uint8], targets: Sequence[Target],
               settings: PointerSettings | None = None, *,
               depth_m: NDArray[np.float32] | None = None, camera: Camera | None = None,
               start: Point | None = None, timeout_s: float | None = None,
               wording: PlaceWording = PLAIN_WORDING, attempt: int = 0,
               progress: Callable[[int], None] | None = None) -> list[Found]:
        """Locate all targets in one picture.

        Args:
            image: (H, W, 3) uint8 RGB.
            targets: what to find.
            settings: how long the model is asked.
            depth_m: (H, W) float32 distance along the optical axis [m], 0 where unknown.
            camera: intrinsics of image and depth.
            start: where a trace is to begin, in unit coordinates.
            timeout_s: wall-clock limit of all targets together [s]. A target that is asked for
                several times has an even share of what is left, at the end of which counts what
                is known by then.
            wording: what prompts say besides what to find.
            attempt: number of the first asking about each target, from 0.
            progress: is told after each target how many are done.

        Returns:
            One for each target, in order.

        Raises:
            InputError: a target, the depth or the start cannot be used; names the remedy.
            BackendError: the model could not answer, or broke its contract, for all targets.
                Where it failed on some of several, their ``unread`` says so.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
        """
        settings = settings or PointerSettings()
        pointer = Pointer(self._model, settings, self._reliability)
        _check(image, targets, depth_m, camera, start)
        end = math.inf if timeout_s is None else time.monotonic() + timeout_s
        pieces: Pieces | None = None
        found: list[Found] = []
        failures: list[BackendError] = []
        for number, target in enumerate(targets):
            left_s = None if timeout_s is None else end - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise DeadlineError(f'{number} of {len(targets)} targets were located within '
                                    f'{timeout_s:g} s; allow more time, or ask for fewer')
            query = Locate(image, target, depth_m, start, attempt, wording)
            try:
                if settings.max_askings == 1 or target.form is Form.TRACE:
                    found.append(self._plainly(query, settings, left_s))
                else:
                    pieces = pieces or propose_pieces(image, depth_m, camera)
                    if left_s is not None:
                        left_s /= len(targets) - number
                    found.append(self._believed(pointer.locate(query, camera, pieces, left_s)))
            except BackendError as error:
                failures.append(error)
                found.append(Found(target, unread=f'the model failed: {error}', askings=1,
                                   model=self.model))
            if progress is not None:
                progress(number + 1)
        if len(failures) == len(targets):
            raise failures[0]
        return found

    def _plainly(self, query: Locate, settings: PointerSettings,
                 left_s: float | None) -> Found:
        """Ask the model once."""
        reply = ask_one(self._model, query, left_s)
        if reply.unread:
            return Found(query.target, reply.regions, reply.probability, False, reply.unread,
                         reply.text, askings=1, model=self.model, unknown=reply.unknown)
        if is_foreign(reply.foreign):
            return Found(query.target, text=reply.text, askings=1, model=self.model,
                         unknown=reply.unknown, doubt=doubt_of(
                             None, settings.accept, reply.unknown, False, foreign=True))
        regions, chance, present = _with_existence(reply, settings.prior_present)
        doubt = doubt_of(chance, settings.accept, reply.unknown,
                         not regions or reply.exists is not None, absent=not regions)
        return Found(query.target, regions, chance, not doubt, '', reply.text, askings=1,
                     model=self.model, doubt=doubt, unknown=reply.unknown, present=present)

    def _believed(self, located: Located) -> Found:
        """Result of several askings."""
        reply = located.to_reply()
        return Found(located.target, reply.regions, reply.probability, located.sure, reply.unread,
                     reply.text, located.askings, located.checks, self.model, located.doubt,
                     located.unknown, located.present)


def _with_existence(reply: LocateReply, prior: float,
                    ) -> tuple[tuple[Region, ...], float | None, float | None]:
    """Places of a reply, their probability, and that of the target's existence.

    Args:
        reply: of a model that is taken at its word.
        prior: probability beforehand that the target is in the picture.

    Returns:
        No places, and the probability that the target is not there, where the model tells that
        it rather does not exist.
    """
    told = UNTOLD if reply.unknown else reply.exists
    if told is None or not reply.regions:
        return reply.regions, reply.probability, None
    there, not_there = prior * told, (1 - prior) * (1 - told)
    present = there / (there + not_there) if there + not_there else prior
    if present <= 1 - present:
        return (), 1 - present, present
    return (reply.regions, None if reply.probability is None else reply.probability * present,
            present)


def locate(picture: str | Path | NDArray[np.uint8], targets: Sequence[str | Target], *,
           form: Form | str = Form.POINT, backend: str = 'embedded',
           backend_options: Mapping[str, Any] | None = None,
           depth: str | Path | NDArray[np.float32] | None = None, camera: Camera | None = None,
           start: Point | None = None, max_askings: int = _USUAL.max_askings,
           accept: float = _USUAL.accept, checks: bool = _USUAL.checks, mark: str = _USUAL.mark,
           prior_present: float = _USUAL.prior_present,
           reliability: Reliability | None = None, record: str | Path | None = None,
           progress: Callable[[int], None] | None = None) -> list[Found]:
    """Locate things in a picture.

    Args:
        picture: a file, or (H, W, 3) uint8 RGB.
        targets: what to find, in words ("the red mug"), or with a form of its own each.
        form: what is asked for: point, points, box or trace.
        backend: name of the backend.
        backend_options: its settings.
        depth: of the picture: a file (.npy in metres, or 16-bit PNG in millimetres), or (H, W)
            float32 [m], 0 where unknown.
        camera: intrinsics of the camera (fx, fy, cx, cy) [px], from the top left pixel's corner.
        start: where a trace is to begin, x and y from 0 to 1.
        max_askings: most askings about one target; 1: the model points once and is taken at its
            word, and no place is checked.
        accept: probability from which a place may be sure, and asking ends.
        checks: whether the model is asked if marked places are right, and if there is such a
            thing.
        mark: what is marked for that: ``piece`` (for things), or ``point`` (for parts of things
            and places to act on).
        prior_present: probability that a target is in the picture, before the model is asked.
        reliability: of the model; None: nothing is known of it.
        record: file to which all queries and replies are written, for the backend ``replay``.
        progress: is told after each target how many are done.

    Returns:
        One for each target, in order.

    Raises:
        InputError: an argument or file cannot be used; names it and the remedy.
        BackendError: the model could not be loaded, or could not answer.
    """
    image = picture if isinstance(picture, np.ndarray) else read_image(user_path(str(picture)))
    if depth is not None and not isinstance(depth, np.ndarray):
        depth = read_depth(user_path(str(depth)))
    wanted = _targets([targets] if isinstance(targets, str) else targets, form)
    settings = PointerSettings(max_askings, accept, checks=checks, mark=mark,
                               prior_present=prior_present)
    check_settings(settings)
    _check(image, wanted, depth, camera, start)
    named: object = backend
    if not isinstance(named, str):
        raise InputError(f'backend is a {type(named).__name__}; give the name of one, or pass '
                         'a model of your own to BackendLocator(NAME, model).locate')
    kind = backend_class(backend)
    check_backend(backend, Locate, None, backend_options)  # in words, before it is loaded
    if traits_of(kind).truth:
        raise InputError(f'backend {backend!r} points by the truth, which is not known of a '
                         'picture; choose one that looks at it')
    options = resolved_options(backend, backend_options or {}, 0)
    made = make_checked_backend(backend, options)
    if record is None:
        return BackendLocator(backend, made, reliability).locate(
            image, wanted, settings, depth_m=depth, camera=camera, start=start,
            progress=progress)
    with contextlib.closing(Recorded(made, record, name=backend,
                                     settings=backend_settings(backend, options))) as recorded:
        return BackendLocator(backend, recorded, reliability).locate(
            image, wanted, settings, depth_m=depth, camera=camera, start=start,
            progress=progress)


def _targets(targets: Sequence[str | Target], form: Form | str) -> list[Target]:
    try:
        asked = Form(form)
    except ValueError as error:
        raise InputError(f'form {form!r} is not one of {", ".join(Form)}') from error
    return [Target(target, asked) if isinstance(target, str) else target for target in targets]


def _check(image: NDArray[np.uint8], targets: Sequence[Target],
           depth_m: NDArray[np.float32] | None, camera: Camera | None,
           start: Point | None) -> None:
    """Refuse arguments that do not fit the picture.

    Raises:
        InputError: says what is wrong, and the remedy.
    """
    checked_rgb(image)
    if not targets:
        raise InputError('what is to be located? Name at least one target, such as "the red mug"')
    for number, target in enumerate(targets, 1):
        if not target.text.strip():
            raise InputError(f'target {number} is empty; say in words what to find, such as "the '
                             'red mug"')
    if depth_m is not None and depth_m.shape != image.shape[:2]:
        raise InputError(f'the depth is of shape {depth_m.shape}, the picture of shape '
                         f'{image.shape[:2]}; give depth that is aligned with the picture')
    if camera is not None and not (
            len(camera) == 4 and all(map(math.isfinite, camera)) and min(camera[:2]) > 0):
        raise InputError(f'camera {camera}: give fx, fy, cx, cy in pixels, fx and fy above 0')
    if start is None:
        return
    if len(start) != 2 or not all(0 <= number <= 1 for number in start):
        raise InputError(f'start {start}: give x and y from 0 to 1')
    if any(target.form is not Form.TRACE for target in targets):
        raise InputError('only a trace has a start: leave it out, or ask for the form trace')
