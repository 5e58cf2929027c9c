"""Environments that hold some packages and what these ask for, and nothing else.

They are made without an index: each is a virtual environment whose site-packages hold links to the
distributions of the environment that runs the tests, found by what each says that it requires.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path

_REQUIREMENT = re.compile(r'([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?')
_EXTRA = re.compile(r'''extra\s*==\s*['"]([^'"]+)['"]''')


class EmptyEnvironment:
    """A virtual environment with some wheels of ours and what they ask for.

    Attributes:
        distributions: normalised names of all that it holds.
        python: its interpreter.
    """

    def __init__(self, folder: Path, wheels: Path, wanted: Iterable[str]) -> None:
        """Make it.

        Args:
            folder: where; does not exist.
            wheels: a folder in which wheels of ours were installed (``pip install --target``).
            wanted: requirements such as ``sightplan_models[torch]``.
        """
        venv.create(folder, with_pip=False)
        self.python = folder / 'bin' / 'python'
        self._site = next((folder / 'lib').glob('python*/site-packages'))
        self._wheels = wheels
        self.distributions: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        for requirement in wanted:
            self._add(requirement)

    def run(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run ``sightplan`` with some arguments."""
        return self.execute('-m', 'sightplan.cli', *words, cwd=cwd)

    def execute(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run the interpreter with some arguments."""
        return subprocess.run([self.python, *words], cwd=cwd, text=True, capture_output=True,
                              check=False, env={'PATH': '/usr/bin:/bin', 'HOME': str(cwd)})

    def _add(self, requirement: str) -> None:
        found = _REQUIREMENT.match(requirement)
        assert found is not None, requirement
        name = re.sub(r'[-_.]+', '-', found[1]).lower()
        distribution = self._find(name)
        self.distributions.add(name)
        for extra in ['', *re.split(r'\s*,\s*', found[2] or '')]:
            if (name, extra) not in self._done:
                self._done.add((name, extra))
                for other in _required(distribution, extra):
                    self._add(other)
        self._link(distribution)

    def _find(self, name: str) -> importlib.metadata.Distribution:
        if name.startswith('sightplan'):
            [info] = self._wheels.glob(f'{name.replace("-", "_")}-*.dist-info')
            return importlib.metadata.PathDistribution(info)
        return importlib.metadata.distribution(name)

    def _link(self, distribution: importlib.metadata.Distribution) -> None:
        for part in sorted({file.parts[0] for file in distribution.files or ()} - {'..', 'bin'}):
            target, link = Path(str(distribution.locate_file(part))), self._site / part
            if target.exists() and not link.exists():
                link.symlink_to(target)


def _required(distribution: importlib.metadata.Distribution, extra: str) -> Iterator[str]:
    """What a distribution asks for on this machine, without an extra ('') or for one."""
    for line in distribution.requires or ():
        requirement, _, marker = line.partition(';')
        found = _EXTRA.search(marker)
        if (found[1] if found else '') == extra and _holds(marker):
            yield requirement


def _holds(marker: str) -> bool:
    """Whether the rest of a marker, without its extra, holds here."""
    rest = re.sub(r'\s*(?:and\s*)?extra\s*==\s*\S+', '', marker).strip().removeprefix('and ')
    from packaging.markers import Marker
    return not rest or Marker(rest).evaluate()
