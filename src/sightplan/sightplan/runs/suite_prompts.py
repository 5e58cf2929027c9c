"""The words around a suite's samples: the suite's own, or those of a folder (``--prompts``).

A folder holds text files, such as those of a clone of a paper's repository, or files of the form
of a suite's ``prompts/`` (``NAME.yaml``). Both are named after the prompt that they replace:
``ask.txt``, ``ask_cot.yaml``. A text file has the parts ``<system>...</system><user>...</user>``;
in that of the user ``{sample}`` stands for the sample (its pictures and texts), or ``{image}`` for
its pictures alone. Other names in braces are details of the sample that methods may know, such as
``{instruction}``. A file without tags is the text of the system role, and the sample follows.
Where samples name a prompt of their own (``Sample.prompt``), such as ``level1``, the file of this
name (``level1.txt``) comes before that of the method's. A text file says nothing about tokens: a
reply may have as many as with the suite's own prompt.

Words that ask for places are another matter: a model's pointing family has them, and a suite says
what it takes in their place from a folder (``Suite.place_words``).
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.domains.text_prompts import (
    PromptOrigin,
    TextFile,
    origin_of,
    split_roles,
    text_files,
)
from sightplan.model import InputError, did_you_mean
from sightplan.model.reading import read_file
from sightplan.model.region import PlaceWording
from sightplan.model.sample import Sample, Words
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import PlaceWords, SuitePrompt

_SAMPLE = re.compile(r'\{(sample|image)\}|<image>', re.IGNORECASE)
_PLACEHOLDER = re.compile(r'\{([a-z_][a-z0-9_]*)\}')

Names = tuple[str, ...]
"""Names under which a prompt is looked for, the first one that there is counts."""


class SuitePrompts:
    """The prompts around the samples of a run.

    Args:
        suite: the suite.
        folder: folder of prompts that replace the suite's; None for none.
        names: of the prompts that the run's method uses: for each, the names under which it is
            looked for, see ``names_of``.
        places: splits of the run whose samples ask its model for places.
        options: of the suite's samples in the run.

    Attributes:
        origin: record of the folder for the identity of the run; None without one.

    Raises:
        InputError: there is no such folder, it lacks a prompt that is used, or one cannot be used.
    """

    def __init__(self, suite: Suite, folder: Path | None, names: Sequence[Names],
                 places: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> None:
        self._suite = suite
        self._chosen: dict[Names, SuitePrompt] = {}
        self._places = PlaceWords({}, {})
        self.origin: PromptOrigin | None = None
        if folder is None:
            return
        if not names and not places:
            raise InputError(f'prompts: the method asks no model with prompts of suite '
                             f'{suite.name} (leave them out)')
        if not folder.is_dir():
            raise InputError(f'prompts: {folder}: no such folder (give the clone that holds the '
                             'prompt files, or the folder that they lie in)')
        if places:
            self._places = suite.place_words(folder, places, options or {})
        if not names:
            self.origin = _origin_of_places(folder, self._places)
            return
        every = tuple(dict.fromkeys(itertools.chain(*names)))
        texts = [file for file in text_files(folder, every) if file.path.stem.lower() in every]
        templates = [path for name in every if (path := folder / f'{name}.yaml').is_file()]
        for one in names:
            own = self._file(one)
            self._chosen[one] = _found(folder, one, texts, templates, (
                self._suite.prompt(own) if own else SuitePrompt()).max_tokens)
        self.origin = origin_of(folder, texts, templates)

    def prompt(self, names: Names) -> SuitePrompt:
        """Return the words of a prompt.

        Args:
            names: under which it is looked for.

        Raises:
            InputError: the suite has none of these names.
        """
        return self._chosen.get(names) or self._suite.prompt(self._file(names) or names[-1])

    def _file(self, names: Names) -> str:
        """The first name of which the suite has a file; '' for none."""
        return next((name for name in names if (
            self._suite.folder / 'prompts' / f'{name}.yaml').is_file()), '')

    def wording(self, sample: Sample) -> PlaceWording:
        """Return what prompts say that ask for a sample's place, with the folder's words."""
        given = self._places.words.get(sample.split)
        if given is None or sample.target is None:
            return sample.wording
        return dataclasses.replace(sample.wording, given=given)

    @property
    def sources(self) -> Mapping[str, str]:
        """Origin of the words that ask for places, by split."""
        return self._places.sources

    def around(self, name: str, sample: Sample) -> Words:
        """Return the words of a prompt around one sample.

        Raises:
            InputError: there is no such prompt, or it names a detail that the sample lacks.
        """
        names = names_of(name, sample)
        words = self.prompt(names)
        if names not in self._chosen:
            return Words(words.system, words.before, words.after, words.max_tokens)
        known = {key: str(sample.details[key]) for key in sample.told if key in sample.details}
        system, before, after = (_filled(text, known, name) for text in (
            words.system, words.before, words.after))
        return Words(system, before, after, words.max_tokens, words.pictures_only)


def names_of(name: str, sample: Sample) -> Names:
    """The names under which the prompt around a sample is looked for, that of its own first.

    Args:
        name: of the method's prompt, ``ask`` or one that begins with it, such as ``ask_cot``.
        sample: see ``Sample.prompt``.
    """
    own = bool(sample.prompt) and name.startswith('ask')
    return (name.replace('ask', sample.prompt, 1), name) if own else (name,)


def _origin_of_places(folder: Path, found: PlaceWords) -> PromptOrigin:
    """Return the record of words that ask for places; its hash is over the words alone."""
    words = {split: dataclasses.asdict(one) for split, one in sorted(found.words.items())}
    return PromptOrigin(folder.resolve().name, hashlib.sha256(
        json.dumps(words, sort_keys=True).encode()).hexdigest()[:12], True)


def _found(folder: Path, names: Names, every: Sequence[TextFile], templates: Sequence[Path],
           max_tokens: int) -> SuitePrompt:
    """Return the prompt of the first name that there is: a template of one's own, or a text file.

    Raises:
        InputError: there is none, there are several, or it cannot be used.
    """
    name = next((one for one in names if any(
        path.stem.lower() == one for path in (*templates, *(file.path for file in every)))),
        names[-1])
    template = next((path for path in templates if path.stem == name), None)
    if template is not None:
        return read_file(SuitePrompt, template)
    texts = [file for file in every if file.path.stem.lower() == name]
    if len(texts) != 1:
        wrong = (f'several files may be the prompt {name}: '
                 f'{", ".join(str(file.path) for file in texts)} (give the folder of one of them)'
                 if texts else f'{folder} has no file for the prompt {" or ".join(names)} (add '
                 f'{names[0]}.txt or {names[0]}.yaml)')
        raise InputError(f'prompts: {wrong}')
    file = texts[0]
    system, user, _ = split_roles(file)
    if not file.tagged:
        return SuitePrompt(system=system.strip(), max_tokens=max_tokens)
    places = list(_SAMPLE.finditer(user))
    if len(places) != 1:
        raise InputError(f'{file.path}: {{sample}} or {{image}} stands {len(places)} times in the '
                         'user part (it must stand once)')
    place = places[0]
    return SuitePrompt(system=system.strip(), before=user[:place.start()].strip(),
                       after=user[place.end():].strip(), max_tokens=max_tokens,
                       pictures_only=(place[1] or 'image').lower() == 'image')


def _filled(text: str, known: Mapping[str, Any], name: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in known:
            raise InputError(f'prompts: prompt {name} has {match[0]}, which samples of this suite '
                             f'do not tell{did_you_mean(match[1], tuple(known))}; there are '
                             f'{", ".join(["sample", "image", *known])} (correct it)')
        return str(known[match[1]])
    return _PLACEHOLDER.sub(value, text)
