"""Models' outputs as the release writes them: read, and scored as its programs score them.

A file ``output_<model>_..._<variant>_<2D|3D>.json`` is a list of ``file`` (the picture), ``id``,
``prompt``, ``<model>_output`` (the whole reply), ``<model>_choice`` (what stands between
``Answer:`` and ``Explanation:``), with random names ``<model>_choice_raw`` (before names became
Path 1 and Path 2), and ``ground_truth`` (``Path 1`` or ``Path 2``); perception has ``metrics`` of
both paths instead of a choice. Of a dialogue what follows ``ASSISTANT:`` counts.

The recorded choice counts as ``reading.read_strictly`` reads it: without spaces, ``*``, ``.`` and
line breaks it is exactly one of the two names, or it is wrong. Of random names the one that occurs
in it counts, the first path's first; they are taken from the last line of the prompt that offers
two.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.model.sample import Choice, Sample, SampleReply
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan.runs.published import PublishedNumbers
from sightplan.runs.suite_parts import Unread
from sightplan_suites.patheval import reading, scoring
from sightplan_suites.patheval.asking import CHOICE, PERCEPTION, PLAIN_NAMES, Names
from sightplan_suites.patheval.items import (
    Item,
    Values,
    details_of,
    family_of,
    level_of,
    lower_of,
    ratio,
)
from sightplan_suites.patheval.json_files import OUTPUT, Kind, kind_of, read_json
from sightplan_suites.patheval.pair_samples import environment_in
from sightplan_suites.patheval.records import VIEWS, Records, view_of
from sightplan_suites.paths.descriptors import NAMES, Descriptors

METHOD, SPLIT, SUITE = 'ask', 'test', 'patheval'
NO_IMAGES = 'no_images'
_PICTURE = 'picture'
_ASSISTANT = 'ASSISTANT:'
_CHOICE, _RAW = '_choice', '_choice_raw'
_VARIANTS = {
    'none': 'none', 'default': 'none', 'flipped': 'flipped', 'flip': 'flipped',
    'descriptors': 'descriptors', 'descriptor': 'descriptors', 'random': 'random',
    'randomnames': 'random', 'noimages': NO_IMAGES, 'noimage': NO_IMAGES,
    'perception': 'perception'}
"""Variants by the words of a file's name, without what stands between them."""
_FINE = 'perceptionfine'
_OFFERED = re.compile(r'Answer:\s*\**(?:Path\s+)?(\w+)\**\s+or\s+\**(?:Path\s+)?(\w+)')
"""The two names that a prompt offers as answers."""
_NAME_IN_FILES = re.compile(r'[^0-9a-z]+')


@dataclass(frozen=True, eq=False)
class Output:
    """Output of a model about one pair.

    Attributes:
        where: file and number of the entry.
        id: of the record.
        picture: name of its picture; '' if that is not told.
        view: of the picture; '' without one.
        prompt: that was sent.
        reply: the model's own words.
        dialogue: whether the entry has the whole dialogue; then the choice is read from it.
        choice: the recorded choice, None without any.
        raw: the choice in random names, None without any.
        better: true answer, 0 or 1; None if the entry has none.
        values: descriptors of both paths; None if the entry has none.
    """

    where: str
    id: str
    picture: str
    view: str
    prompt: str
    reply: str
    dialogue: bool
    choice: str | None
    raw: str | None
    better: int | None
    values: Values | None


@dataclass(frozen=True, eq=False)
class OutputFile:
    """The outputs of one model in one variant and view.

    Attributes:
        path: of the file.
        model: the paper's name of it, or its name in the file.
        variant: as in ``samples.VARIANTS``.
        view: ``2d`` or ``3d``; '' if neither file nor pictures say one.
        outputs: in order, each id once.
        skipped: entries that cannot be used.
        sha256: of the file.
    """

    path: Path
    model: str
    variant: str
    view: str
    outputs: list[Output]
    skipped: list[Skipped]
    sha256: str


@dataclass
class Lines:
    """Outputs as lines of results.

    Attributes:
        lines: as a run's ``episodes.jsonl`` has them.
        skipped: outputs without a known truth.
        notes: sentences on what contradicts the records, or the replies themselves.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


# ------------------------------------------------------------------------------------- the files


def holds_outputs(path: Path) -> bool:
    """Whether a path is a folder, or a JSON file with outputs."""
    if path.is_dir():
        return True
    if path.suffix.lower() != '.json' or not path.is_file():
        return False
    try:
        content = read_json(path)
    except InputError:
        return False
    return isinstance(content, list) and kind_of(content) is Kind.OUTPUTS


def read_outputs(path: Path, published: PublishedNumbers) -> tuple[list[OutputFile],
                                                                   list[Skipped]]:
    """Read a file of outputs, or all of a folder; other JSON files of it are left alone.

    Args:
        path: the file or folder.
        published: the paper's numbers, which have its names of models.

    Returns:
        the files, and those that cannot be used.

    Raises:
        InputError: there is not one file of outputs.
    """
    found: list[OutputFile] = []
    skipped: list[Skipped] = []
    for file in sorted(path.rglob('*.json')) if path.is_dir() else [path]:
        try:
            content = read_json(file)
            if isinstance(content, list) and kind_of(content) is Kind.OUTPUTS:
                found.append(_read_file(file, content, published))
        except InputError as error:
            skipped.append(skip(str(file), reason_of(error, str(file))))
    if not found:
        raise InputError(f'{path}: holds no outputs of a model (give a file output_*.json, or a '
                         'folder of them)' + (
                             f'; {skipped[0]["file"]}: {skipped[0]["reason"]}' if skipped else ''))
    return found, skipped


def _read_file(path: Path, content: Sequence[Any], published: PublishedNumbers) -> OutputFile:
    """Read the entries of a file.

    Raises:
        InputError: its name and keys tell no view, or not one entry can be used.
    """
    middle, variant, view = parts_of(path.stem)
    if _FINE in _plain(path.stem):
        raise InputError(f'{path}: holds answers about one descriptor a call, which do not tell '
                         'the descriptor (leave it out)')
    outputs: dict[str, Output] = {}
    skipped: list[Skipped] = []
    keys = {key.removesuffix(OUTPUT) for entry in content if isinstance(entry, dict)
            for key in entry if key.endswith(OUTPUT)}
    for number, entry in enumerate(content, 1):
        where = f'{path}: output {number}'
        try:
            one = _output(entry, where, view)
            if one.id in outputs:
                raise InputError(f'{where}: id = {one.id!r} is there twice, first at '
                                 f'{outputs[one.id].where} (keep one of them)')
        except InputError as error:
            skipped.append(skip(str(path), reason_of(error, str(path))))
            continue
        outputs[one.id] = one
    if not outputs:
        raise InputError(f'{path}: not one of {len(content)} outputs can be used; the first: '
                         f'{skipped[0]["reason"]}')
    some = list(outputs.values())
    views = {one.view for one in some}
    if not variant:
        variant = ('perception' if all(one.choice is None and one.values for one in some) else
                   'random' if any(one.raw is not None for one in some) else 'none')
    if variant != NO_IMAGES and views == {''}:
        raise InputError(f'{path}: neither its name nor that of a picture says 2D or 3D (end the '
                         'name with _2D.json or _3D.json)')
    model = model_of([middle, *sorted(keys)], published) or middle or min(keys)
    return OutputFile(path, model, variant, view or max(views), some, skipped,
                      hashlib.sha256(path.read_bytes()).hexdigest())


def parts_of(stem: str) -> tuple[str, str, str]:
    """Model with what follows it, variant and view in the name of a file; '' for what it lacks.

    Args:
        stem: such as ``output_gpt4o_test_no_images_2D``.
    """
    words = stem.split('_')
    if words[0].lower() == 'output':
        words = words[1:]
    view = view_of(stem)
    words = [word for word in words if word.lower() != view] if view else words
    for at in range(len(words) - 1, -1, -1):
        for count in (2, 1):
            name = _plain(''.join(words[at:at + count]))
            if name in _VARIANTS:
                return '_'.join(words[:at]), _VARIANTS[name], view
    return '_'.join(words), '', view


def model_of(names: Sequence[str], published: PublishedNumbers) -> str:
    """The paper's name of a model that files and keys call otherwise; '' if it is not clear.

    The longest beginning of a name that is a model's name counts, without signs between its words
    (``gpt4o_mini_test``); else the first word, if one model alone begins with it (``qwen``).

    Args:
        names: in the order in which they count.
        published: the paper's numbers.
    """
    known = {_plain(model): model for model in _models(published)}
    known |= {_plain(alias.rpartition('/')[2]): found for alias in published.aliases
              if (found := published.model_name(alias)) is not None and found in known.values()}
    for name in names:
        words = [word for word in name.split('_') if word]
        starts = [_plain(''.join(words[:count])) for count in range(len(words), 0, -1)]
        for start in starts:
            if start in known:
                return known[start]
        for start in starts:
            alike = {model for model in _models(published) if start and _plain(model).startswith(
                start)}
            if len(alike) == 1:
                return alike.pop()
    return ''


@functools.cache
def _models(published: PublishedNumbers) -> tuple[str, ...]:
    """The models of table 1."""
    return tuple(model for model in published.models if published.find(
        model, 'solved', split=SPLIT, variant=NO_IMAGES) is not None)


def _plain(name: str) -> str:
    return _NAME_IN_FILES.sub('', name.lower())


# ----------------------------------------------------------------------------------- the entries


def _output(entry: Any, where: str, view: str) -> Output:
    """Read one entry.

    Raises:
        InputError: a field is missing or wrong; names place, field and remedy.
    """
    if not isinstance(entry, dict):
        raise InputError(f'{where}: must be an object with the keys file, id and <model>{OUTPUT}')
    keys = [key for key in entry if key.endswith(OUTPUT)]
    if len(keys) != 1:
        raise InputError(f'{where}: {len(keys)} keys end in {OUTPUT} (one holds the reply)')
    name, number = keys[0].removesuffix(OUTPUT), entry.get('id')
    if isinstance(number, bool) or not isinstance(number, (int, str)):
        raise InputError(f'{where}: id = {number!r} (give that of the record)')
    picture = _text(entry, 'file', where) or ''
    shown = view_of(re.split(r'[/\\]', picture)[-1])
    if view and shown and view != shown:
        raise InputError(f'{where}: file = {picture!r} shows view {shown}, and the name of the '
                         f'file of outputs says {view} (correct one of them)')
    text = _text(entry, keys[0], where) or ''
    before, dialogue, reply = text.partition(_ASSISTANT)
    label = _text(entry, 'ground_truth', where)
    if label is not None and label.strip() not in PLAIN_NAMES:
        raise InputError(f'{where}: ground_truth = {label!r} (give {" or ".join(PLAIN_NAMES)})')
    return Output(where, str(number), picture, view or shown, _text(entry, 'prompt', where) or '',
                  reply if dialogue else before, bool(dialogue),
                  _text(entry, f'{name}{_CHOICE}', where), _text(entry, f'{name}{_RAW}', where),
                  None if label is None else PLAIN_NAMES.index(label.strip()),
                  _values(entry.get('metrics'), where))


def _text(entry: Mapping[str, Any], key: str, where: str) -> str | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f'{where}: {key} = {str(value)[:40]!r} is no text (write text, or null)')
    return value


def _values(metrics: Any, where: str) -> Values | None:
    if not isinstance(metrics, dict) or not set(PLAIN_NAMES) <= metrics.keys():
        return None
    for name in PLAIN_NAMES:
        if not isinstance(metrics[name], dict):
            raise InputError(f'{where}: metrics.{name} must be an object of the seven descriptors')
    first, second = (Descriptors.from_json(metrics[name], f'{where}: metrics.{name}')
                     for name in PLAIN_NAMES)
    return first, second


# -------------------------------------------------------------------------------------- the lines


class KnownRecords:
    """Records of the benchmark that outputs are about: they know tasks and maps.

    Attributes:
        sha256: of the records; '' if none are known.
    """

    def __init__(self, records: Records | None) -> None:
        """Take the records of a folder; None: nothing is known."""
        self.sha256 = '' if records is None else records.sha256
        self._items: dict[tuple[str, str], Item | None] = {}
        for item, view in zip(records.items, records.views, strict=True) if records else ():
            for key in ((_PICTURE, _file_name(item.pictured.name)),
                        (view, item.id.rpartition('/')[2])):
                self._items[key] = None if key in self._items else item  # which one is not clear

    def find(self, one: Output) -> Item | None:
        """The record of an output: that of its picture, or else of its view and id.

        An output without a view is about the record of either view: they are the same pair.
        """
        keys = [(_PICTURE, _file_name(one.picture)),
                *((view, one.id) for view in ([one.view, ''] if one.view else ['', *VIEWS]))]
        return next((item for key in keys if (item := self._items.get(key)) is not None), None)


def _file_name(path: str) -> str:
    return re.split(r'[/\\]', path)[-1]


def lines_of(file: OutputFile, known: KnownRecords) -> Lines:
    """Score the outputs of a file.

    Args:
        file: the outputs.
        known: the records that they are about, as far as there are any.
    """
    made, differing, unlike = Lines(), 0, 0
    for one in file.outputs:
        item = known.find(one)
        truth = _truth(one, file.variant, item)
        if truth is None:
            made.skipped.append(skip(one.where, 'has no ground_truth, and no metrics of both '
                                     'paths (name the records by --data)'))
            continue
        answer, recorded_otherwise = _answer(one, file.variant)
        differing += recorded_otherwise
        if item is not None and 'better' in truth:
            unlike += truth['better'] != (item.better if file.variant != 'flipped' else
                                          1 - item.better)
        made.lines.append(_line(file, one, item, truth, answer))
    if differing:
        made.notes.append(f'{file.path}: {differing} recorded choices are other ones than their '
                          'replies name; the recorded ones count')
    if unlike:
        made.notes.append(f'{file.path}: {unlike} values of ground_truth are not those of the '
                          'records; those of the file count')
    return made


def _truth(one: Output, variant: str, item: Item | None) -> dict[str, Any] | None:
    if variant == PERCEPTION:
        values = one.values or (None if item is None else item.values)
        return None if values is None else {'lower': lower_of(values)}
    if one.better is not None:
        return {'better': one.better}
    return None if item is None else {
        'better': 1 - item.better if variant == 'flipped' else item.better}


def _answer(one: Output, variant: str) -> tuple[dict[str, Any] | None, bool]:
    """The answer in both readings, and whether the recorded choice is not what the reply names."""
    names = offered_names(one.prompt) if variant == 'random' else PLAIN_NAMES
    sample = _sample(one, variant, names or PLAIN_NAMES)
    try:
        read: dict[str, Any] | None = reading.read(one.reply, sample)
    except Unread:
        read = None
    if variant == PERCEPTION:
        return read, False
    said = None if read is None else read['strict']
    recorded = None if one.choice is None else reading.read_strictly(one.choice, PLAIN_NAMES)
    if recorded is None and names and one.raw is not None:
        recorded = reading.read_strictly(one.raw, names)
    if recorded is None and names and names != PLAIN_NAMES and one.choice is not None:
        recorded = reading.read_strictly(one.choice, names)
    is_read = (one.choice is None and one.raw is None) or (one.dialogue and names is not None)
    strict = said if is_read else recorded
    lenient = strict if not names or read is None else read['lenient']
    differs = names is not None and said is not None and said != strict
    if strict is None and lenient is None:
        return None, differs
    return {'strict': strict, 'lenient': lenient,
            'explanation': '' if read is None else read['explanation']}, differs


def offered_names(prompt: str) -> Names | None:
    """The two names that a prompt offers last; None if it offers none, or twice the same."""
    found = _OFFERED.findall(prompt)
    return found[-1] if found and found[-1][0] != found[-1][1] else None


def _sample(one: Output, variant: str, names: Names) -> Sample:
    asks, count = (PERCEPTION, len(NAMES)) if variant == PERCEPTION else (CHOICE, 1)
    return Sample(one.id, SPLIT, one.id, (one.prompt,), details={'asks': asks},
                  choices=(Choice(names),) * count)


def _line(file: OutputFile, one: Output, item: Item | None, truth: Mapping[str, Any],
          answer: Mapping[str, Any] | None) -> dict[str, Any]:
    asks = PERCEPTION if file.variant == PERCEPTION else CHOICE
    place = environment_in(one.picture) if item is None else item.map
    details: dict[str, Any] = {'asks': asks, 'variant': file.variant, 'view': one.view,
                               'map': place, 'family': family_of(place)}
    if item is not None:
        details |= {'pair': item.pair, **(details_of(item) if asks == CHOICE else {})}
    values = one.values or (None if item is None else item.values)
    if asks == PERCEPTION and values is not None:
        details['levels'] = {name: level_of(ratio(values, name)) for name in NAMES}
    found = scoring.score(_sample(one, file.variant, PLAIN_NAMES), answer, truth,
                          SampleReply(one.reply))
    return {
        'id': one.id, 'suite': SUITE, 'kind': 'sample', 'cluster': place or one.id, 'domain': '',
        'split': SPLIT, 'method': METHOD, 'model': file.model, 'seed': None,
        'measures': dict(found.measures), 'cause': found.cause,
        'answer': None if answer is None else dict(answer),
        'unread': '' if answer is not None else (
            'no valid answer' if one.reply.strip() else 'empty reply'),
        'unknown': [], 'error': None, 'usage': None, 'seconds': None, 'reply': one.reply,
        'p_yes': None, 'p_no': None, 'p_right': None, 'truth': dict(truth), 'details': details}
