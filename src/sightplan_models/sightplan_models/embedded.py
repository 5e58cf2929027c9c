"""``embedded``: small vision-language models that come with the package and run on the CPU.

Some domains have one each, an ordinary transformers folder in ``../embedded_model``, which is
computed in numpy (``_embedded_questions``): torch and transformers are not loaded for it. Another
small image-text-to-text model can be named in ``model_dir``; it is run by the same code as the
backend ``transformers``. They were made for bare questions, so the words of a prompt around them
are left out. A model whose pictures have four channels is given depth as the fourth, where an
observation has any. The model of boards (``sliding``) is no transformers folder but three networks
of our own (``_embedded_sliding``), which its ``config.json`` says.

Things are found in pictures by another network, whatever the domain (``_embedded_locator``):
``../embedded_model/locator``, if one is shipped, or that of the setting ``locator_dir``. It is
loaded when something is to be located for the first time. All things of a table are found and
told apart by one more (``_embedded_detector``), likewise: ``../embedded_model/detector``, or that
of the setting ``detector_dir``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.model import InputError, param
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
from sightplan_models._embedded_questions import ShippedQuestionModel
from sightplan_models._model_identity import files_hash, folder_identity
from sightplan_models._numpy_threads import set_numpy_threads
from sightplan_models._unlike import SHIPPED, foreign_by, unlike_by, with_world

if TYPE_CHECKING:
    from sightplan_models._transformers_questions import QuestionModel

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
        settings: see Settings; the number of threads holds for torch, or numpy where that computes
            the model, in the whole process.

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


def _set_threads(settings: Settings) -> None:
    """Set the number of threads of torch in this process."""
    import torch

    torch.set_num_threads(settings.threads)


def _locator(settings: Settings) -> Model:
    from sightplan_models._embedded_locator import EmbeddedLocator

    _set_threads(settings)
    folder = _locator_folder(settings)
    return EmbeddedLocator(folder, settings.depth, foreign_by(folder))


def _detector(settings: Settings) -> Model:
    from sightplan_models._embedded_detector import EmbeddedDetector

    _set_threads(settings)
    folder = _detector_folder(settings)
    return EmbeddedDetector(folder, settings.depth, unlike_by(folder))


def _path_reader(settings: Settings) -> Model:
    from sightplan_models._embedded_paths import PathReader

    _set_threads(settings)
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
    if shipped:
        set_numpy_threads(settings.threads)
        name = with_world(folder_identity('embedded', folder, 'model_dir'), folder)
        return ShippedQuestionModel(folder, _shipped_name(folder.name, name), settings.depth,
                                    unlike_by(folder))
    return question_model_of_transformers(folder, settings)


def question_model_of_transformers(folder: Path, settings: Settings) -> QuestionModel:
    """Load a question model by transformers, a shipped one, too.

    Raises:
        BackendError: see ``Backend``.
    """
    from sightplan_models import _model_loading
    from sightplan_models._transformers_questions import QuestionModel

    shipped = folder.parent == SHIPPED
    options = _model_loading.Settings(str(folder), device='cpu', offline=True,
                                      memory_gb=settings.memory_gb, threads=settings.threads)
    name, model, processor = _model_loading.load(
        'embedded', options, pixels='pil', shipped=shipped,
        setting='model_dir (empty: the shipped model)')
    name = with_world(name, folder)
    return QuestionModel(_shipped_name(folder.name, name) if shipped else name, model, processor,
                         options, folder.name if shipped else '', settings.depth,
                         unlike_by(folder))


def _board_reader(folder: Path, settings: Settings, shipped: bool) -> Model:
    """Load the reader of boards, which needs nothing of transformers."""
    from sightplan_models._embedded_sliding import BoardReader

    _set_threads(settings)
    name = with_world(folder_identity('embedded', folder, 'model_dir'), folder)
    if not shipped:
        name += f'+{files_hash(folder)}'
    return BoardReader(folder, _shipped_name(folder.name, name) if shipped else name,
                       folder.name if shipped else '', unlike_by(folder))


def _shipped_name(domain: str, name: str) -> str:
    return f'{SHIPPED.name}/{domain}@{name.partition("@")[2]}'


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
