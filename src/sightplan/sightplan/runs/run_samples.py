"""The samples of a finished run, made or loaded again by its suite.

A line of results holds the answer and the truth of a sample, not its picture. What is shown again,
or scored again, comes from the suite: with the options that the run had, and only where the suite
still makes the same samples of them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError, SightplanError, user_path
from sightplan.model.sample import SHOWN_HASH, Sample
from sightplan.runs import protocols
from sightplan.runs.samples import load_samples
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Samples


@dataclass(frozen=True)
class RunSamples:
    """Samples of a run.

    Attributes:
        parts: sample and its split's samples, by the sample's id.
        missing: by split, why its samples cannot be had again.
    """

    parts: Mapping[str, tuple[Sample, Samples]]
    missing: Mapping[str, str]

    def sample(self, line: Mapping[str, Any]) -> Sample | None:
        """The sample of a line of results, with the details of the line; None if it is missing."""
        found = self.parts.get(line['id'])
        return found and dataclasses.replace(found[0], details=line['details'])

    def why_missing(self, line: Mapping[str, Any]) -> str:
        """Why the sample of a line is missing, in words."""
        return self.missing.get(line['split'], f'suite {line["suite"]} has no sample of this id')


def options_of_run(info: Mapping[str, Any]) -> dict[str, Any]:
    """The suite's options of a run, with those that its protocol sets.

    A folder of data is found from where the run was started, too.

    Args:
        info: content of its ``run.json``.

    Raises:
        InputError: they are not known.
    """
    try:
        session = info['sessions'][-1]
        said = session['settings']
        _ = said['suite_options']
        fields = {field.name for field in dataclasses.fields(RunSettings)}
        settings = RunSettings(**{name: said[name] for name in fields & said.keys()})
    except (LookupError, TypeError) as error:
        raise InputError('run.json does not say with which settings the run was started'
                         ) from error
    options = dict(protocols.apply(settings).suite_options)
    data, start = options.get('data'), session.get('directory')
    if data and start and not user_path(data).exists():
        there = Path(start) / user_path(data)
        options['data'] = str(there) if there.exists() else data
    return options


def samples_of_run(info: Mapping[str, Any], suite: Suite, splits: Iterable[str]) -> RunSamples:
    """Make or load the samples of a run again; their truths may have changed since.

    Args:
        info: content of its ``run.json``.
        suite: of the run.
        splits: those that are wanted.
    """
    parts: dict[str, tuple[Sample, Samples]] = {}
    missing: dict[str, str] = {}
    for split in splits:
        try:
            parts |= split_of_run(info, suite, split, options_of_run(info), truths=False)
        except SightplanError as error:
            missing[split] = str(error)
    return RunSamples(parts, missing)


def split_of_run(info: Mapping[str, Any], suite: Suite, split: str, options: Mapping[str, Any],
                 same: bool = True, truths: bool = True,
                 ) -> dict[str, tuple[Sample, Samples]]:
    """Make or load the samples of one split of a run again: sample and samples, by id.

    Args:
        info: content of its ``run.json``.
        suite: of the run.
        split: of the suite.
        options: of the suite.
        same: whether they have to be those that the run had.
        truths: whether that goes for their truths, too, see ``check_same``.

    Raises:
        SightplanError: they cannot be had, or are others now.
    """
    part, = load_samples(suite, split, options)
    if same:
        check_same(info, split, part, truths)
    return {sample.id: (sample, part) for sample in part.items}


def check_same(info: Mapping[str, Any], split: str, part: Samples, truths: bool = True,
               ) -> None:
    """Check that samples are those that a run had.

    Args:
        info: content of its ``run.json``.
        split: of the samples.
        part: as they are now.
        truths: whether their truths have to be the same, too; if not, they may be others where
            the identity tells what else the samples are (``SHOWN_HASH``).

    Raises:
        InputError: they are others now.
    """
    then = (info['identity'].get('samples') or {}).get(split, {})
    now = json.loads(json.dumps(dict(part.identity)))
    free = ('sha256',) if not truths and SHOWN_HASH in then else ()
    changed = [name for name, value in then.items() if now.get(name) != value
               and name not in free]
    if changed:
        what = ''
        if SHOWN_HASH in then:
            what = ('a picture or a question has changed; ' if SHOWN_HASH in changed else
                    'a truth has changed ("--new-truths" scores by it); ')
        named = what + ', '.join(f'{name} was {then[name]!r}, and is {now.get(name)!r}'
                                 for name in changed)
        raise InputError(f'the samples of split {split} are not those of the run any more: '
                         f'{named}')
