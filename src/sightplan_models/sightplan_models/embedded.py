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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BARE, BackendError, InputError, Observation, param
from sightplan.model.query import (
    Deadline,
    Model,
    ModelByKind,
    Query,
    Traits,
    answers,
    traits_of,
)
from sightplan.queries import Answer, Choose, Detect, Locate, YesNo
from sightplan.vlm.wrapping import Lazy, Router
from sightplan_models import _model_loading
from sightplan_models._depth import depth_channel
from sightplan_models._local_models import LocalModel
from sightplan_models._model_identity import files_hash, folder_identity
from sightplan_models._unlike import (
    SHIPPED,
    Unlike,
    foreign_by,
    never,
    unlike_by,
    with_world,
)

LOCATOR = 'locator'
"""Name of the folder beside them of the network that locates."""
DETECTOR = 'detector'
"""Name of the folder beside them of the network that finds all things in a picture."""
PATHS = 'paths'
"""Name of the folder beside them of the networks that compare paths."""

BOARDS = 'sightplan_boards'
"""Type of the model, in its ``config.json``, that reads boards of pieces."""


DETECTED = ('tabletop',)
"""Domains with a shipped detector, but without a shipped model for questions."""
_MADE_FOR = ('knows nothing but pictures that sightplan renders (tables, blocks, homes, boards): '
             'of any other picture, such as a photograph, it says that it cannot tell')


def _only_detects(settings: Settings) -> bool:
    """Whether a domain has a shipped detector only."""
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
    """Settings of the backend ``embedded``."""

    model_dir: str = param('', 'folder of the model; empty for the one that is shipped')
    domain: str = param('', 'domain whose shipped model answers; empty: that of the run, without '
                        'a run the first that has one', identity=False)
    depth: bool = param(True, 'Whether a model that can use depth gets the depth of '
                        'observations; else depth counts as unknown')
    locator_dir: str = param('', 'folder of the network that locates things; empty for the one '
                             'that is shipped, if any')
    detector_dir: str = param('', 'folder of the network that finds all things in a picture; '
                              'empty for the one that is shipped, if any')
    paths_dir: str = param('', 'folder of the networks that compare paths on maps; empty for '
                           'those that are shipped, if any')
    threads: int = param(1, 'CPU threads of the model', low=1, high=256)
    memory_gb: float = param(0.0, 'bound on the memory of one pass [GiB]; 0: 2', low=0.0,
                             high=1e4, identity=False)


def content(settings: Settings, kind: type[Query[Any]] = YesNo) -> str:
    """Name and hash of the weights for a kind of query; see ``api.backend_content``."""
    folder, setting, marker = _weights(settings, kind)
    return with_world(folder_identity('embedded', folder, setting, marker), folder)


def _weights(settings: Settings, kind: type[Query[Any]]) -> tuple[Path, str, str]:
    """Folder of the weights for a kind of query, its setting, and the names of its files."""
    if kind is Locate:
        return _locator_folder(settings), 'locator_dir', LOCATOR
    if kind is Choose:
        return _paths_folder(settings), 'paths_dir', PATHS
    if kind is Detect or _only_detects(settings):
        return _detector_folder(settings), 'detector_dir', DETECTOR
    folder = Path(settings.model_dir) if settings.model_dir else shipped_folder(settings.domain)
    return folder, 'model_dir', 'config'


class _Sight(NamedTuple):
    """A picture as the processor takes it, and its depth: (H, W) [m], None for unknown."""

    picture: Any
    depth_m: NDArray[np.float32] | None


_MISSING = {
    Locate: "backend 'embedded' cannot point at things: this version comes without the weights of "
            'a locator; train one (training/README.md) and name its folder as locator_dir, or '
            'choose another backend',
    Detect: "backend 'embedded' cannot find all things in a picture: this version comes without "
            'the weights of a detector; train one (training/README.md) and name its folder as '
            'detector_dir, or choose another backend',
    Choose: "backend 'embedded' cannot choose: this version comes without the weights of what "
            'compares paths; train them (training/README.md) and name their folder as paths_dir, '
            'or choose another backend'}


class Backend(Router):
    """One small model for each kind of query; the one for questions is loaded at once.

    Args:
        settings: see Settings; the number of threads holds for torch in the whole process.

    Raises:
        InputError: no model is shipped for the domain; names those that have one.
        BackendError: a library or the model folder is missing or unfit; says what to do.
    """

    accepts = frozenset({YesNo, Locate, Detect, Choose})
    """Kinds of queries for which weights may exist; an instance accepts those whose weights it
    has."""
    traits = Traits(prompt=False, weights=True, made_for=_MADE_FOR)

    def __init__(self, settings: Settings | None = None) -> None:
        own = settings or Settings()
        loaders: dict[type[Query[Any]], tuple[bool, Callable[[], Model]]] = {
            Locate: (bool(own.locator_dir) or locator_is_shipped(), lambda: _locator(own)),
            Detect: (bool(own.detector_dir) or detector_is_shipped(), lambda: _detector(own)),
            Choose: (bool(own.paths_dir) or paths_are_shipped(), lambda: _path_reader(own))}
        parts: dict[type[Query[Any]], Lazy | Model] = {
            kind: Lazy(load) for kind, (there, load) in loaders.items() if there}
        if _only_detects(own):
            import torch

            torch.set_num_threads(own.threads)
            main: Model = _NoQuestions(own.domain, parts[Detect])
        else:
            main = _question_model(own)
        super().__init__(main, parts, _MISSING)
        self.accepts = frozenset({YesNo, *parts})
        self.traits = traits_of(main)


class _NoQuestions(ModelByKind):
    """Stands in for the question model of a domain that has only a detector."""

    def __init__(self, domain: str, detector: Lazy | Model) -> None:
        self._domain = domain
        self._detector = detector
        self.traits = Traits(prompt=False)

    @property
    def name(self) -> str:
        """Exact name of the detector, which is all that there is."""
        return (self._detector.get() if isinstance(self._detector, Lazy)
                else self._detector).name

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Refuse questions: no model for the domain is shipped.

        Raises:
            InputError: always; says what to do.
        """
        raise InputError(f"backend 'embedded' answers no questions about domain "
                         f'{self._domain!r}, it finds the things in its pictures; train a '
                         'model (training/README.md) and name its folder as model_dir, or '
                         'choose method grounded_plan or another backend')


def _locator(settings: Settings) -> Model:
    from sightplan_models._embedded_locator import EmbeddedLocator

    folder = _locator_folder(settings)
    return EmbeddedLocator(folder, settings.depth, foreign_by(folder))


def _detector(settings: Settings) -> Model:
    from sightplan_models._embedded_detector import EmbeddedDetector

    folder = _detector_folder(settings)
    return EmbeddedDetector(folder, settings.depth, unlike_by(folder))


def _path_reader(settings: Settings) -> Model:
    from sightplan_models._embedded_paths import PathReader

    folder = _paths_folder(settings)
    name = content(settings, Choose)
    return PathReader(folder, f'{SHIPPED.name}/{name}' if folder.parent == SHIPPED else name,
                      unlike_by(folder))


def _question_model(settings: Settings) -> Model:
    """The model that answers yes/no questions."""
    folder = (Path(settings.model_dir) if settings.model_dir
              else shipped_folder(settings.domain)).resolve()
    shipped = folder.parent == SHIPPED
    if reads_boards(folder):
        return _board_reader(folder, settings, shipped)
    options = _model_loading.Settings(str(folder), device='cpu', offline=True,
                                     memory_gb=settings.memory_gb, threads=settings.threads)
    name, model, processor = _model_loading.load(
        'embedded', options, pixels='pil', shipped=shipped,
        setting='model_dir (empty: the shipped model)')
    return QuestionModel(with_world(name, folder), model, processor, options,
                         folder.name if shipped else '', settings.depth, unlike_by(folder))


def _board_reader(folder: Path, settings: Settings, shipped: bool) -> Model:
    """Load the reader of boards, which needs nothing of transformers."""
    import torch

    from sightplan_models._embedded_sliding import BoardReader

    torch.set_num_threads(settings.threads)
    name = with_world(folder_identity('embedded', folder, 'model_dir'), folder)
    if not shipped:
        name += f'+{files_hash(folder)}'
    return BoardReader(folder, _shipped_name(folder.name, name) if shipped else name,
                       folder.name if shipped else '', unlike_by(folder))


def _shipped_name(domain: str, name: str) -> str:
    return f'{SHIPPED.name}/{domain}@{name.partition("@")[2]}'


class QuestionModel(LocalModel):
    """A small model of transformers for bare yes/no questions, with depth if it was made for it.

    Args:
        name: see ``_model_loading.load``; likewise ``model`` and ``processor``.
        model: see there.
        processor: see there.
        options: those it was loaded with.
        domain: that it was made for, if it is a shipped model; else ''.
        depth: whether it is given depth.
        unlike: says why it can tell nothing of a picture.
    """

    accepts = frozenset({YesNo})

    def __init__(self, name: str, model: Any, processor: Any, options: _model_loading.Settings,
                 domain: str, depth: bool, unlike: Unlike = never) -> None:
        self._unlike = unlike
        vision = getattr(model.config, 'vision_config', None)
        self._channels = int(getattr(vision, 'num_channels', 3))
        self._domain, self._depth = domain, depth
        self.traits = Traits(prompt=False, domain=domain, depth=self.has_depth and depth)
        if self.has_depth and not depth:
            name += ' depth=false'
        super().__init__('embedded', name, model, processor, options)

    @property
    def name(self) -> str:
        """Name and hash of the weights, for example ``embedded_model/blocksworld@0f3a5c...``.

        Shipped models are called by their domain; others by their folder, and a hash of their
        other files follows.
        """
        return _shipped_name(self._domain, self._name) if self._domain else self._name

    @property
    def has_depth(self) -> bool:
        """Whether the model was made for pictures with depth."""
        return self._channels == 4

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image, without the words around them.

        It cannot tell what a question with a word asks that it does not know, and nothing of a
        picture that is unlike those that it was made for.
        """
        seen = queries[0].observation
        self._check(seen)
        unlike = '' if seen.image is None else self._unlike(seen.image)
        unable = [unlike or self._why_unable(query.question.text) for query in queries]
        known = [dataclasses.replace(query, prompt=BARE)
                 for query, why in zip(queries, unable, strict=True) if not why]
        told = iter(super().answer(known, deadline) if known else ())
        return [Answer.cannot_tell(why) if why else next(told) for why in unable]

    def _why_unable(self, question: str) -> str:
        """Why the model can answer no such question, whatever the picture; '' if it can."""
        unknown = self._unknown_words(question)
        return f'it does not know {", ".join(map(repr, unknown))}' if unknown else ''

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019 (models are kept)
    def _unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of a text that the model has no token for."""
        if self._tokenizer.unk_token_id is None:
            return ()
        read = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return tuple(dict.fromkeys(
            text[begin:end] for number, (begin, end) in zip(
                read['input_ids'], read['offset_mapping'], strict=True)
            if number == self._tokenizer.unk_token_id))

    def ask_plainly(self, queries: Sequence[YesNo]) -> list[Answer]:
        """Answer each question with its own copy of the image, without the words around it."""
        return super().ask_plainly([dataclasses.replace(query, prompt=BARE) for query in queries])

    def _seen_depth(self, seen: Observation) -> NDArray[np.float32] | None:
        """The depth that the model is to see, (H, W) [m]; None for none."""
        return seen.depth_m if self.traits.depth else None

    def _sight_id(self, seen: Observation) -> str:
        depth_m = self._seen_depth(seen)
        if depth_m is None:
            return seen.image_id
        digest = hashlib.sha256(np.ascontiguousarray(depth_m).tobytes())
        return f'{seen.image_id} {depth_m.shape} {digest.hexdigest()}'

    def _check(self, seen: Observation) -> None:
        """Check that there is an image: this model looks, and reads no descriptions."""
        if seen.image is None:
            raise BackendError('the observation holds no image; this model only answers questions '
                               'about a picture')
        super()._check(seen)

    def _look(self, seen: Observation) -> list[_Sight]:
        return [_Sight(picture, self._seen_depth(seen)) for picture in super()._look(seen)]

    def _inputs(self, text: str, images: Sequence[_Sight]) -> dict[str, Any]:
        """Inputs as the processor makes them, with a depth channel where the model has one."""
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
