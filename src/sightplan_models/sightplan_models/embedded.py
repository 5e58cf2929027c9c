"""``embedded``: small vision-language models that come with the package and run on the CPU.

Some domains have one each, an ordinary transformers folder in ``../embedded_model``, run
by the same code as the backend ``transformers``; another small image-text-to-text model can be
named in ``model_dir``. They were made for bare questions, so the words of a prompt around them are
left out. A model whose pictures have four channels is given depth as the fourth, where an
observation has any. The model of boards (``sliding``) is no transformers folder but three networks
of our own (``_embedded_sliding``), which its ``config.json`` says.

Things are found in pictures by another network, whatever the domain (``_embedded_locator``):
``../embedded_model/locator``, if one is shipped, or that of the setting ``locator_dir``. It is
loaded when something is to be located for the first time. All things of a table are found and
told apart by one more (``_embedded_detector``), likewise: ``../embedded_model/detector``, or that
of the setting ``detector_dir``.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BARE, InputError, Observation, Usage, param
from sightplan.vlm.api import (
    AnswersOnly,
    YesNoReply,
    YesNoRequest,
)
from sightplan.vlm.choosing import ChoiceReply, ChoiceRequest
from sightplan.vlm.detecting import DetectReply, DetectRequest
from sightplan.vlm.locating import LocateReply, LocateRequest
from sightplan_models import _local_models
from sightplan_models._depth import depth_channel

if TYPE_CHECKING:
    from sightplan_models._embedded_detector import EmbeddedDetector
    from sightplan_models._embedded_locator import EmbeddedLocator
    from sightplan_models._embedded_paths import PathReader
    from sightplan_models._embedded_sliding import BoardReader

SHIPPED = Path(__file__).resolve().parent / 'embedded_model'
"""Folder of the models that come with the package, one folder a domain."""
LOCATOR = 'locator'
"""Name of the folder beside them of the network that locates."""
DETECTOR = 'detector'
"""Name of the folder beside them of the network that finds all things in a picture."""
PATHS = 'paths'
"""Name of the folder beside them of the networks that compare paths."""

BOARDS = 'sightplan_boards'
"""Type of the model, in its ``config.json``, that reads boards of pieces."""


DETECTED = ('tabletop',)
"""Domains of whose pictures all things are found; none has a shipped model for questions."""


def choosing_content(settings: Settings) -> str:
    """Name and hash of the weights of what chooses; see ``api.backend_content``."""
    return _local_models.folder_identity('embedded', _paths_folder(settings), 'paths_dir', PATHS)


def detecting_content(settings: Settings) -> str:
    """Name and hash of the weights of what finds things; see ``api.backend_content``."""
    return _local_models.folder_identity('embedded', _detector_folder(settings), 'detector_dir',
                                         DETECTOR)


def locating_content(settings: Settings) -> str:
    """Name and hash of the weights of what points; see ``api.backend_content``."""
    return _local_models.folder_identity('embedded', _locator_folder(settings), 'locator_dir',
                                         LOCATOR)


def _only_detects(settings: Settings) -> bool:
    """Whether all that there is for a domain is what finds things."""
    return (not settings.model_dir and settings.domain in DETECTED
            and settings.domain not in shipped_domains())


def _detector_folder(settings: Settings) -> Path:
    return (Path(settings.detector_dir).expanduser() if settings.detector_dir
            else SHIPPED / DETECTOR).resolve()


def _locator_folder(settings: Settings) -> Path:
    return (Path(settings.locator_dir).expanduser() if settings.locator_dir
            else SHIPPED / LOCATOR).resolve()


def _paths_folder(settings: Settings) -> Path:
    return (Path(settings.paths_dir).expanduser() if settings.paths_dir
            else SHIPPED / PATHS).resolve()


def paths_are_shipped() -> bool:
    """Whether networks that compare paths come with the package."""
    return any((SHIPPED / PATHS).glob('*.safetensors'))


def locator_is_shipped() -> bool:
    """Whether a network that locates comes with the package."""
    return any((SHIPPED / LOCATOR).glob('*.safetensors'))


def detector_is_shipped() -> bool:
    """Whether a network that finds all things in a picture comes with the package."""
    return any((SHIPPED / DETECTOR).glob('*.safetensors'))


@dataclass(frozen=True, slots=True)
class Settings:
    """How the embedded model runs."""

    model_dir: str = param('', 'folder of the model; empty for the one that is shipped')
    domain: str = param('', 'domain whose shipped model answers; empty: that of the run, without '
                        'a run the first that has one', identity=False)
    depth: bool = param(True, 'Whether a model that was made for depth, too, is given that of '
                        'observations; else it is told that depth is not known')
    locator_dir: str = param('', 'folder of the network that locates things; empty for the one '
                             'that is shipped, if any')
    detector_dir: str = param('', 'folder of the network that finds all things in a picture; '
                              'empty for the one that is shipped, if any')
    paths_dir: str = param('', 'folder of the networks that compare paths on maps; empty for '
                           'those that are shipped, if any')
    threads: int = param(1, 'CPU threads of the model', low=1, high=256)
    memory_gb: float = param(0.0, 'bound on the memory of one pass [GiB]; 0: 2', low=0.0,
                             high=1e4, identity=False)


def content(settings: Settings) -> str:
    """Name and hash of the weights; see ``api.backend_content``."""
    if _only_detects(settings):
        return detecting_content(settings)
    folder = Path(settings.model_dir) if settings.model_dir else shipped_folder(settings.domain)
    return _local_models.folder_identity('embedded', folder, 'model_dir')


class _Sight(NamedTuple):
    """A picture as the processor takes it, and its depth: (H, W) [m], None for unknown."""

    picture: Any
    depth_m: NDArray[np.float32] | None


class Backend(AnswersOnly, _local_models.LocalModel):
    """Answers from one token's probabilities; ready (loaded, checked, warm) once constructed.

    Args:
        settings: see Settings; the number of threads holds for torch in the whole process.

    Raises:
        InputError: no model is shipped for the domain; names those that have one.
        BackendError: a library or the model folder is missing or unfit; says what to do.
    """

    needs_truth = False
    reads_prompt = False
    needs_pixels = True
    locates = locator_is_shipped()
    """Whether it can point; of one that was made with ``locator_dir``: true."""
    detects = detector_is_shipped()
    """Whether it finds all things in a picture; of one that was made with ``detector_dir``:
    true."""
    chooses = paths_are_shipped()
    """Whether it compares paths; of one that was made with ``paths_dir``: true."""

    def __init__(self, settings: Settings | None = None) -> None:
        own = settings or Settings()
        self._locator_folder = _locator_folder(own)
        self.locates = bool(own.locator_dir) or locator_is_shipped()
        self._locator: EmbeddedLocator | None = None
        self._detector_folder = _detector_folder(own)
        self.detects = bool(own.detector_dir) or detector_is_shipped()
        self._detector: EmbeddedDetector | None = None
        self._paths_folder = _paths_folder(own)
        self.chooses = bool(own.paths_dir) or paths_are_shipped()
        self._paths: PathReader | None = None
        self._loading = threading.Lock()
        self._depth = own.depth
        self._channels = 3
        self._boards: BoardReader | None = None
        self._unasked = own.domain if _only_detects(own) else ''
        self._domain = ''
        if self._unasked:
            import torch

            torch.set_num_threads(own.threads)
            self._lock, self._usage = threading.Lock(), Usage()
            self.name = detecting_content(own)
            return
        folder = (Path(own.model_dir) if own.model_dir else shipped_folder(own.domain)).resolve()
        shipped = folder.parent == SHIPPED
        self._domain = folder.name if shipped else ''
        if reads_boards(folder):
            self._read_boards(folder, own, shipped)
            return
        options = _local_models.Settings(str(folder), device='cpu', offline=True,
                                         memory_gb=own.memory_gb, threads=own.threads)
        name, model, processor = _local_models.load(
            'embedded', options, pixels='pil', shipped=shipped,
            setting='model_dir (empty: the shipped model)')
        vision = getattr(model.config, 'vision_config', None)
        self._channels = int(getattr(vision, 'num_channels', 3))
        if self.has_depth and not own.depth:
            name += ' depth=false'
        super().__init__('embedded', name, model, processor, options)

    def _read_boards(self, folder: Path, own: Settings, shipped: bool) -> None:
        """Get ready to read boards, with nothing of transformers."""
        import torch

        from sightplan_models._embedded_sliding import BoardReader

        torch.set_num_threads(own.threads)
        self.name = _local_models.folder_identity('embedded', folder, 'model_dir')
        if not shipped:
            self.name += f'+{_local_models.files_hash(folder)}'
        self._boards = BoardReader(folder)
        self._lock, self._usage = threading.Lock(), Usage()

    @property
    def model(self) -> str:
        """Name and hash of the weights, for example ``embedded_model/blocksworld@0f3a5c...``.

        Shipped models are called by their domain; others by their folder, and a hash of their
        other files follows.
        """
        if self._unasked:
            return self.detector_model
        if not self._domain:
            return self.name
        return f'{SHIPPED.name}/{self._domain}@{self.name.partition("@")[2]}'

    @property
    def has_depth(self) -> bool:
        """Whether the model was made for pictures with depth."""
        return self._channels == 4

    @property
    def needs_depth(self) -> bool:
        """Whether observations should bring depth: it is used."""
        return self.has_depth and self._depth

    @property
    def domain(self) -> str:
        """Domain that the model was made for, if it is a shipped one; else ''."""
        return self._domain

    @property
    def made_for(self) -> str:
        """Contract in ``api.MadeForDomain``; '' for boards, whose reader says what it reads."""
        return '' if self._boards is not None or self._unasked else self._domain

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions about one image; contract in the protocol."""
        if self._unasked:
            raise InputError(f"backend 'embedded' answers no questions about domain "
                             f'{self._unasked!r}, it finds the things in its pictures; train a '
                             'model (training/README.md) and name its folder as model_dir, or '
                             'choose method grounded_plan or another backend')
        if self._boards is not None:
            replies = self._boards.answer(request)
            with self._lock:
                self._count(len(replies), 0, 0)
            return replies
        return super().answer(dataclasses.replace(request, prompt=BARE))

    def locate(self, request: LocateRequest) -> LocateReply:
        """Find something in a picture; contract in the protocol ``api.Locator``.

        It gives points and boxes with calibrated probabilities, no traces. Another attempt at the
        same target is another view of the picture: mirrored, smaller, moved.

        Raises:
            InputError: no network that locates is shipped and none is named, a trace is asked
                for, or the image is none.
            BackendError: torch or the locator's folder is missing or unfit.
            DeadlineError: not within the time limit.
        """
        reply = self._loaded_locator().locate(request, self._depth)
        with self._lock:
            self._count(1, 0, 0)
        return reply

    def detect(self, request: DetectRequest) -> DetectReply:
        """Find all things in a picture; contract in the protocol ``detecting.Detector``.

        Categories, colours and being there have calibrated probabilities. Another attempt at the
        same picture is another view of it: mirrored, smaller, moved.

        Raises:
            InputError: no network that detects is shipped and none is named, or the image is
                none.
            BackendError: torch or the detector's folder is missing or unfit.
            DeadlineError: not within the time limit.
        """
        reply = self._loaded_detector().detect(request, self._depth)
        with self._lock:
            self._count(1, 0, 0)
        return reply

    @property
    def detector_model(self) -> str:
        """Name and hash of the network that detects, ``embedded_model/detector@0f3a5c...``.

        Raises:
            InputError: none is shipped and none is named.
            BackendError: its folder is missing or unfit.
        """
        return self._loaded_detector().model

    def _loaded_detector(self) -> EmbeddedDetector:
        if not self.detects:
            raise InputError("backend 'embedded' cannot find all things in a picture: this "
                             'version comes without the weights of a detector; train one '
                             '(training/README.md) and name its folder as detector_dir, or '
                             'choose another backend')
        with self._loading:
            if self._detector is None:
                from sightplan_models._embedded_detector import EmbeddedDetector

                self._detector = EmbeddedDetector(self._detector_folder)
            return self._detector

    def choose(self, request: ChoiceRequest) -> ChoiceReply:
        """Compare paths on maps by named properties; contract in ``choosing.Chooser``.

        Raises:
            InputError: no networks that compare paths are shipped and none are named, or the
                request names no properties of paths.
            BackendError: torch or their folder is missing or unfit.
        """
        if not self.chooses:
            raise InputError("backend 'embedded' cannot choose: this version comes without the "
                             'weights of what compares paths; train them (training/README.md) '
                             'and name their folder as paths_dir, or choose another backend')
        with self._loading:
            if self._paths is None:
                from sightplan_models._embedded_paths import PathReader

                self._paths = PathReader(self._paths_folder)
        reply = self._paths.choose(request)
        with self._lock:
            self._count(1, 0, 0)
        return reply

    @functools.cached_property
    def chooser_model(self) -> str:
        """Name and hash of what compares paths, ``embedded_model/paths@0f3a...``; '' without."""
        if not self.chooses:
            return ''
        name = _local_models.folder_identity('embedded', self._paths_folder, 'paths_dir', PATHS)
        return f'{SHIPPED.name}/{name}' if self._paths_folder.parent == SHIPPED else name

    @property
    def locator_model(self) -> str:
        """Name and hash of the network that locates, ``embedded_model/locator@0f3a5c...``.

        Raises:
            InputError: none is shipped and none is named.
            BackendError: its folder is missing or unfit.
        """
        return self._loaded_locator().model

    def _loaded_locator(self) -> EmbeddedLocator:
        if not self.locates:
            raise InputError("backend 'embedded' cannot point at things: this version comes "
                             'without the weights of a locator; train one (training/README.md) '
                             'and name its folder as locator_dir, or choose another backend')
        with self._loading:
            if self._locator is None:
                from sightplan_models._embedded_locator import EmbeddedLocator

                self._locator = EmbeddedLocator(self._locator_folder)
            return self._locator

    def _seen_depth(self, seen: Observation) -> NDArray[np.float32] | None:
        """The depth that the model is to see, (H, W) [m]; None for none."""
        return seen.depth_m if self.needs_depth else None

    def _sight_id(self, seen: Observation) -> str:
        depth_m = self._seen_depth(seen)
        if depth_m is None:
            return seen.image_id
        digest = hashlib.sha256(np.ascontiguousarray(depth_m).tobytes())
        return f'{seen.image_id} {depth_m.shape} {digest.hexdigest()}'

    def _look(self, seen: Observation) -> _Sight:
        return _Sight(super()._look(seen), self._seen_depth(seen))

    def _inputs(self, text: str, images: Sequence[_Sight]) -> dict[str, Any]:
        """As the processor makes them, with one more channel where the model has one."""
        inputs = super()._inputs(text, [image.picture for image in images])
        if self.has_depth:
            inputs['pixel_values'] = _with_depth(inputs['pixel_values'],
                                                 [image.depth_m for image in images])
        return inputs


def _with_depth(pixels: Any, depths_m: Sequence[NDArray[np.float32] | None]) -> Any:
    """(n, 3, h, w) pictures, and depth of any size, nearest pixels taken, to (n, 4, h, w).

    As in training: the values of ``depth_channel``, 255 is 1.0, and 0, unknown, is -1.0.
    """
    import torch

    height, width = pixels.shape[-2:]
    channel = np.zeros((len(depths_m), 1, height, width), np.uint8)
    for i, depth_m in enumerate(depths_m):
        if depth_m is not None:
            rows = np.arange(height) * depth_m.shape[0] // height
            columns = np.arange(width) * depth_m.shape[1] // width
            channel[i, 0] = depth_channel(depth_m[rows[:, None], columns])
    fourth = torch.from_numpy(channel).to(pixels.dtype) / 127.5 - 1
    return torch.cat([pixels, fourth], 1)


def reads_boards(folder: Path) -> bool:
    """Whether a folder holds a reader of boards, which has no tokenizer and no processor."""
    try:
        found = json.loads((folder / 'config.json').read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get('model_type') == BOARDS


def shipped_domains() -> tuple[str, ...]:
    """Domains for which a model comes with the package, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in SHIPPED.glob('*/config.json')))


def shipped_folder(domain: str = '') -> Path:
    """Folder of the model that comes with the package for a domain; '' for the first that has one.

    Raises:
        InputError: there is none; names the domains that have one.
    """
    domains = shipped_domains()
    if domain and domain not in domains:
        raise InputError(f"backend 'embedded' has no model for domain {domain!r}, only for "
                         f'{", ".join(domains) or "none"}; train one (training/README.md) and '
                         'name its folder as model_dir, or choose another backend')
    return SHIPPED / (domain or (domains or ('',))[0])
