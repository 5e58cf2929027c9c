"""A suite that is a folder: ``suite.yaml`` and a module for each part that it has.

``suite.yaml`` (its rules), ``episodes.py``, ``samples.py`` or both (its items), ``reading.py`` (a
reply to an answer), ``scoring.py`` (an answer to measures), ``pages.py`` (what people are shown of
a sample), ``prompts/``, ``given_prompts.py`` (words of a user's folder that ask for places),
``published.json`` (numbers to compare with), ``effort.json`` (for estimates), ``report.py``
(tables and figures) and ``commands.py`` (verbs). Modules are imported when they are needed. What a
module does not have is as ``Suite`` has it.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sightplan.metrics.measures import Measure
from sightplan.model import InputError, Problem, State
from sightplan.model.plugins import Folder
from sightplan.model.reading import read_file
from sightplan.model.region import Region
from sightplan.model.sample import Sample, SampleData, SampleReply
from sightplan.runs.effort import EffortNumbers
from sightplan.runs.published import PublishedNumbers
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import (
    CheckReport,
    PlaceWords,
    SamplePage,
    Samples,
    Scored,
    SuitePrompt,
    Verbs,
)
from sightplan.runs.suite_rules import BOTH, SAMPLES, SuiteFile

if TYPE_CHECKING:
    from sightplan.domains import Domain

MARKER = 'suite.yaml'


class FolderSuite(Suite):
    """A suite whose parts are files of a folder."""

    def __init__(self, folder: Folder, content: SuiteFile) -> None:
        """Store the folder and the content of ``suite.yaml``; ``read_suite`` makes a suite."""
        self._found = folder
        self.name, self.title, self.paper = folder.name, content.title, content.paper
        self.splits, self.domains = content.splits, content.domains
        self.failure_probability, self.seed = content.failure_probability, content.seed
        self.sample_kinds = content.sample_kinds
        self.asks_for_text = content.asks_for_text
        self.protocols = content.protocols
        self.published = PublishedNumbers(folder.path / 'published.json')
        self.effort = EffortNumbers(folder.path / 'effort.json', self.published)

    @property
    def source(self) -> Path:
        """The path that messages name: the suite's folder."""
        return self.folder

    @property
    def rules_file(self) -> Path:
        """``suite.yaml``."""
        return self.folder / MARKER

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._found.path

    def has(self, module: str) -> bool:
        """Whether it has a module (an optional one)."""
        return (self.folder / f'{module}.py').is_file()

    def module(self, name: str) -> Any:
        """Return one of the suite's modules: ``scoring``, ``reading``, ``samples``, ...

        Raises:
            InputError: the module is missing or cannot be imported; names file and reason.
        """
        try:
            found = self._found.module(name)
        except InputError as error:
            raise InputError(f'suite {self.name!r}: {error}') from error
        if found is None:
            raise InputError(f'suite {self.name!r}: {self.folder / name}.py is missing')
        return found

    def _own(self, module: str, name: str, default: Any) -> Any:
        """Return a module's attribute ``name``; the default if module or attribute is missing."""
        return getattr(self.module(module), name, default) if self.has(module) else default

    @property
    def settings(self) -> type[Any] | None:
        """``Settings`` of ``samples.py``."""
        found: type[Any] | None = self._own('samples', 'Settings', None)
        return found

    @property
    def verbs(self) -> Verbs:
        """The functions of ``commands.py`` that are fields of ``Verbs``."""
        return Verbs(**{field.name: self._own('commands', field.name, None)
                        for field in dataclasses.fields(Verbs)})

    def samples(self, split: str, options: Mapping[str, Any]) -> Samples:
        """Contract in ``Suite``."""
        return cast(Samples, self.module('samples').samples(split, options))

    def problems(self, data: Path) -> Mapping[str, tuple[Domain, Problem]]:
        """Contract in ``Suite``."""
        return cast('Mapping[str, tuple[Domain, Problem]]', self.module('episodes').problems(data))

    def check(self, data: Path) -> CheckReport:
        """Contract in ``Suite``."""
        return cast(CheckReport, self._of_data('check')(data))

    def generate(self, out: Path, count: int, seed: int) -> Mapping[str, Any]:
        """Contract in ``Suite``."""
        return cast('Mapping[str, Any]', self._of_data('generate')(out, count, seed))

    @property
    def can_check(self) -> bool:
        """Whether the module of its items has a function ``check``."""
        return any(self._own(kind, 'check', None) for kind in self.kinds)

    @property
    def can_generate(self) -> bool:
        """Whether the module of its items has a function ``generate``."""
        return any(self._own(kind, 'generate', None) for kind in self.kinds)

    def _of_data(self, function: str) -> Callable[..., Any]:
        """A function of the module that makes the suite's items.

        Episodes and samples of one suite share a folder of data; that of the episodes' module
        counts.
        """
        found = next(filter(None, (self._own(kind, function, None) for kind in self.kinds)), None)
        if found is None:
            raise InputError(f'suite {self.name} cannot {function}: there is no function '
                             f'{function} in {self.folder / self.kinds[0]}.py')
        return cast('Callable[..., Any]', found)

    def prompt(self, name: str) -> SuitePrompt:
        """``prompts/<name>.yaml``; contract in ``Suite``."""
        path = self.folder / 'prompts' / f'{name}.yaml'
        return super().prompt(name) if name == 'ask' and not path.is_file() else read_file(
            SuitePrompt, path)

    def place_words(self, folder: Path, splits: Sequence[str], options: Mapping[str, Any],
                    ) -> PlaceWords:
        """``place_words`` of ``given_prompts.py``; contract in ``Suite``."""
        return cast(PlaceWords, self._own('given_prompts', 'place_words', super().place_words)(
            folder, splits, options))

    @property
    def reads_place_words(self) -> bool:
        """Whether it has ``given_prompts.py``."""
        return self.has('given_prompts')

    def read(self, text: str, sample: Sample) -> Any:
        """Contract in ``Suite``."""
        return self._own('reading', 'read', super().read)(text, sample)

    def write(self, truth: Any, sample: Sample) -> str:
        """Contract in ``Suite``."""
        return str(self._own('reading', 'write', super().write)(truth, sample))

    def guess(self, sample: Sample, rng: random.Random) -> str:
        """Contract in ``Suite``."""
        return str(self._own('reading', 'guess', super().guess)(sample, rng))

    def compose(self, sample: Sample, data: SampleData) -> Any:
        """Contract in ``Suite``."""
        return self._own('reading', 'compose', super().compose)(sample, data)

    def truth_regions(self, truth: Any) -> Sequence[Region]:
        """``truth_regions`` of ``scoring.py``."""
        found: Sequence[Region] = self._own('scoring', 'truth_regions', lambda truth: ())(truth)
        return found

    def page(self, sample: Sample, answer: Any, truth: Any, scored: Scored) -> SamplePage:
        """``page`` of ``pages.py``; contract in ``Suite``."""
        return cast(SamplePage, self._own('pages', 'page', super().page)(
            sample, answer, truth, scored))

    def measures(self, kind: str) -> tuple[Measure, ...]:
        """``MEASURES`` of ``scoring.py``; of samples, where it has both, ``SAMPLE_MEASURES``."""
        name = 'SAMPLE_MEASURES' if self.kind == BOTH and kind == SAMPLES else 'MEASURES'
        found: tuple[Measure, ...] | None = self._own('scoring', name, None)
        return super().measures(kind) if found is None else found

    def score(self, sample: Sample, answer: Any, truth: Any, reply: SampleReply) -> Scored:
        """Contract in ``Suite``."""
        return cast(Scored, self._own('scoring', 'score', super().score)(
            sample, answer, truth, reply))

    def episode_measures(self, line: Mapping[str, Any], solved: bool | None,
                         ) -> Mapping[str, float | None]:
        """``measures`` of ``scoring.py``; contract in ``Suite``."""
        return cast('Mapping[str, float | None]', self._own(
            'scoring', 'measures', super().episode_measures)(line, solved))

    @property
    def keeps_details(self) -> bool:
        """Whether ``scoring.py`` has ``details``; contract in ``Suite``."""
        return self._own('scoring', 'details', None) is not None

    def episode_details(self, problem: Problem, states: Sequence[State],
                        line: Mapping[str, Any]) -> Mapping[str, Any]:
        """``details`` of ``scoring.py``; contract in ``Suite``."""
        return cast('Mapping[str, Any]', self._own(
            'scoring', 'details', super().episode_details)(problem, states, line))

    def summarise(self, lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Contract in ``Suite``."""
        return cast('Mapping[str, Any]', self._own('scoring', 'summarise', super().summarise)(
            lines))

    def tables(self, runs: Iterable[Any]) -> Iterable[Any]:
        """Contract in ``Suite``."""
        return cast('Iterable[Any]', self._own('report', 'tables', super().tables)(runs))

    def figures(self, runs: Iterable[Any]) -> Iterable[Any]:
        """Contract in ``Suite``."""
        return cast('Iterable[Any]', self._own('report', 'figures', super().figures)(runs))


def read_suite(folder: Folder) -> FolderSuite:
    """Read a suite's folder.

    Raises:
        InputError: its ``suite.yaml`` cannot be used; names file, field and remedy.
    """
    path = f'{folder.path}/{MARKER}'
    try:
        changed_ns = os.stat(path).st_mtime_ns
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    return _read(folder, changed_ns)


@functools.lru_cache(maxsize=64)
def _read(folder: Folder, changed_ns: int) -> FolderSuite:
    return FolderSuite(folder, read_file(SuiteFile, folder.path / MARKER))
