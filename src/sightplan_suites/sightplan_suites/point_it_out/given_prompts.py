"""Words of a user's clone that ask for places and traces (``--prompts DIR``).

Taken are *texts*: text files, and texts in Python files, which are read and never run (also ones
that are put together of several, or filled by ``format`` or as f-strings). A text is a prompt if
it has a placeholder for what is asked and some words around it. ``{question}`` makes it one for s1
and s2, ``{task}`` or ``{eepose}`` one for s3; ``_MEANINGS`` has all placeholders. The family that
it is of stands in the name of the text, of what is around it, or of its file (``families.yaml``).
A file ``s1s2.txt``, ``s1.txt``, ``s2.txt`` or ``s3.txt`` counts before all that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.domains.text_prompts import TextFile, plain_braces, split_roles
from sightplan.model import Form, InputError, did_you_mean
from sightplan.model.paths import visible_folders
from sightplan.model.reading import Record, read_file
from sightplan.model.region import GivenWords
from sightplan.runs.suite_finding import suite_settings
from sightplan.runs.suite_parts import PlaceWords
from sightplan_suites.point_it_out.official import PLACES, TRACES
from sightplan_suites.point_it_out.samples import Settings

_TEXTS = ('.txt', '.md', '.prompt', '.tmpl', '.template', '.jinja', '.jinja2')
_NO_PROMPTS = ('readme', 'license', 'requirements', 'changelog')
_MOST_FILES, _MOST_BYTES = 50_000, 1 << 20
_LEAST_LETTERS = 40
"""Fewest characters of a prompt besides its placeholders; shorter texts are titles, messages."""
_MOST_NAMED = 8
_TARGET, _START, _IMAGE = 'target', 'start', 'image'
_MEANINGS = {
    **dict.fromkeys(('question', 'query', 'lang', 'language', 'description', 'text', 'target',
                     'instruction', 'task', 'task_description'), _TARGET),
    **dict.fromkeys(('eepose', 'ee_pose', 'ee', 'start', 'start_point', 'starting_point',
                     'start_pos', 'position'), _START),
    **dict.fromkeys(('width', 'w'), 'width'), **dict.fromkeys(('height', 'h'), 'height'),
    'image': _IMAGE}
"""Meanings of placeholders, in small letters."""
_OF_TRACES = ('task', 'task_description')
_PLACEHOLDER = re.compile(r'\{\{? ?([A-Za-z_][A-Za-z0-9_]*) ?\}?\}')
_IMAGE_TAG = re.compile(r'\{image\}|<image>', re.IGNORECASE)
_WORD = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')


class Family(Record):
    """An entry of ``families.yaml``; see there."""

    named: tuple[str, ...]
    like: str = ''
    box: dict[str, Any] | None = None
    trace: dict[str, Any] | None = None


class _Families(Record):
    """Content of ``families.yaml``."""

    gpt: Family
    claude: Family
    gemini: Family
    qwen: Family
    molmo: Family
    robopoint: Family
    roborefer: Family
    robobrain: Family
    molmoact: Family


@dataclass(frozen=True, slots=True)
class _Text:
    """A prompt in a clone.

    Attributes:
        where: its file, and its line or name there.
        names: of the text, of what is around it, of its file and of folders, the closest first.
        system, user: its texts, with placeholders as it has them.
        exact: names of splits that the file is called by.
    """

    where: str
    names: tuple[str, ...]
    system: str
    user: str
    exact: tuple[str, ...] = ()

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Placeholders in the text, in small letters."""
        return tuple(name.lower() for name in _PLACEHOLDER.findall(f'{self.system} {self.user}'))

    @property
    def meanings(self) -> set[str]:
        """Return the meanings of the placeholders that stand in the text."""
        return {_MEANINGS[name] for name in self.placeholders if name in _MEANINGS}

    @property
    def kind(self) -> str:
        """Whether it asks for ``s1s2`` or ``s3``; '' if for nothing."""
        if not self.meanings & {_TARGET, _START}:
            return ''
        traces = _START in self.meanings or any(name in _OF_TRACES for name in self.placeholders)
        return TRACES if traces else PLACES


def families() -> Mapping[str, Family]:
    """The families of ``families.yaml`` by name."""
    content = read_file(_Families, Path(__file__).with_name('families.yaml'))
    return {name: getattr(content, name) for name in type(content).model_fields}


def place_words(folder: Path, splits: Sequence[str], options: Mapping[str, Any]) -> PlaceWords:
    """Contract in ``runs.suite.Suite``.

    Raises:
        InputError: the words of a split are missing or ambiguous, lack a placeholder or have an
            unknown one; names file and remedy.
    """
    if not folder.is_dir():
        raise InputError(f'prompts: {folder}: no such folder (give the clone that holds the '
                         'prompts, or a folder with s1s2.txt and s3.txt)')
    settings = suite_settings('point_it_out', Settings, options)
    texts = list(_texts(folder))
    found = {split: _chosen(folder, texts, split, settings) for split in splits}
    return PlaceWords({split: _words(text, split, settings) for split, text in found.items()},
                      {split: text.where for split, text in found.items()})


# -------------------------------------------------------------------------------------- choosing


def _chosen(folder: Path, texts: Sequence[_Text], split: str, settings: Settings) -> _Text:
    """The one text that asks for a split's places in the words of the run's family."""
    kind = TRACES if split == TRACES else PLACES
    for name in (split, kind):
        exact = [text for text in texts if name in text.exact]
        if exact:
            return _only(folder, exact, split, settings)
    asking = [text for text in texts if not text.exact and text.kind == kind]
    if settings.family:
        asking = _of_family(asking, settings.family)
    return _only(folder, asking, split, settings)


def _of_family(texts: Sequence[_Text], family: str) -> list[_Text]:
    """A family's own texts; else those of no family, else those of the family that it is like."""
    known = families()
    for wanted in (family, '', known[family].like):
        if found := [text for text in texts if _family(text, known) == wanted]:
            return found
    return []


def _family(text: _Text, known: Mapping[str, Family]) -> str:
    """Name of the family that the closest of a text's names tells; '' for none.

    Of several in one name the longer one counts: ``molmoact`` is not ``molmo``.
    """
    for name in text.names:
        words = _split_words(name)
        told = {beginning: family for family, its in known.items() for beginning in its.named
                if any(word.startswith(beginning) for word in words)}
        if told:
            return told[max(told, key=len)]
    return ''


def _only(folder: Path, texts: Sequence[_Text], split: str, settings: Settings) -> _Text:
    """The only one of some texts.

    Of several, those count that ask for the form of answer and the ticks that the run has.

    Raises:
        InputError: there is none, or more than one.
    """
    left = list({(text.system, text.user): text for text in reversed(texts)}.values())[::-1]
    if split != TRACES:
        left = _preferred(left, lambda text: _asks_for_box(text) == (settings.form == Form.BOX))
    left = _preferred(left, lambda text: ('tick' in text.user.lower()) == settings.ticks)
    family = f' of family {settings.family}' if settings.family else ''
    name = TRACES if split == TRACES else PLACES
    if not left:
        holder = '{task} and {eepose}' if split == TRACES else '{question}'
        raise InputError(f'prompts: {folder} has no prompt{family} for split {split} (give the '
                         f'clone whose texts have {holder}, or add {name}.txt with them)')
    if len(left) > 1:
        more = f' and {len(left) - _MOST_NAMED} more' if len(left) > _MOST_NAMED else ''
        choose = '' if settings.family else 'name a family (--suite-option family=...), or '
        raise InputError(
            f'prompts: several texts may be the prompt{family} for split {split}: '
            f'{", ".join(text.where for text in left[:_MOST_NAMED])}{more} ({choose}copy the '
            f'right one as {name}.txt into a folder, and give that folder)')
    return left[0]


def _preferred(texts: list[_Text], fits: Callable[[_Text], bool]) -> list[_Text]:
    """The texts that fit, if there are several and some do."""
    return [text for text in texts if fits(text)] or texts if len(texts) > 1 else texts


def _asks_for_box(text: _Text) -> bool:
    named = set(_split_words(text.names[0]))
    if named & {'box', 'bbox', 'bbx'} or named & {'point', 'points'}:
        return bool(named & {'box', 'bbox', 'bbx'})
    return 'box' in text.user.lower()


def _words(text: _Text, split: str, settings: Settings) -> GivenWords:
    """A text as the words of queries.

    Raises:
        InputError: a placeholder is missing or unknown, or there are two for the picture.
    """
    wrong = [name for name in text.placeholders if name not in _MEANINGS]
    if wrong:
        known = tuple(dict.fromkeys(_MEANINGS))
        raise InputError(f'prompts: {text.where}: placeholder {{{wrong[0]}}} is unknown (known: '
                         f'{", ".join(known)}{did_you_mean(wrong[0], known)}); copy the text into '
                         f'a file {TRACES if split == TRACES else PLACES}.txt, correct it there, '
                         'and give its folder')
    if _TARGET not in text.meanings:
        raise InputError(f'prompts: {text.where}: lacks '
                         f'{"{task}" if split == TRACES else "{question}"} (put it where it is to '
                         'be said)')
    places = list(_IMAGE_TAG.finditer(text.user))
    if len(places) > 1 or _IMAGE_TAG.search(text.system):
        raise InputError(f'prompts: {text.where}: {{image}} stands {len(places)} times in the '
                         'words of the user (it may stand once there, and nowhere else)')
    before, after = ((text.user[:places[0].start()], text.user[places[0].end():]) if places else
                     ('', text.user))
    family = families().get(settings.family)
    schema = None if family is None else (
        family.trace if split == TRACES else family.box if settings.form == Form.BOX else None)
    return GivenWords(_renamed(text.system).strip(), _renamed(before).strip(),
                      _renamed(after).strip(), json_schema=schema)


def _renamed(text: str) -> str:
    return _PLACEHOLDER.sub(lambda match: f'{{{_MEANINGS[match[1].lower()]}}}', text)


def _split_words(name: str) -> list[str]:
    """The words of a name, in small letters: of ``S3_PROMPT``, ``QwenVL``, ``gpt_4o``."""
    plain = re.sub(r'[^A-Za-z0-9]', ' ', name)
    return [*(word.lower() for word in _WORD.findall(plain)), *plain.lower().split()]


# --------------------------------------------------------------------------------------- finding


def _texts(folder: Path) -> Iterator[_Text]:
    """Yield the texts of a folder, at any depth, that may be prompts."""
    paths = (path for place in visible_folders(folder) for path in sorted(place.iterdir()))
    for number, path in enumerate(paths):
        if number >= _MOST_FILES:
            raise InputError(f'prompts: {folder} holds more than {_MOST_FILES} files (give the '
                             'folder that the prompts lie in)')
        suffix, stem = path.suffix.lower(), path.stem.lower()
        if suffix not in (*_TEXTS, '.py') or stem in _NO_PROMPTS:
            continue
        exact = (stem,) if stem in ('s1', 's2', PLACES, TRACES) and suffix in _TEXTS else ()
        content = _content(path, bool(exact))
        if content is None:
            continue
        around = path.relative_to(folder).with_suffix('').parts[::-1]
        if suffix == '.py':
            yield from _of_python(path, content, around)
        else:
            text = _of_file(path, content, around, exact)
            if exact or (text.kind and _is_long(text)):
                yield text


def _content(path: Path, needed: bool) -> str | None:
    """The text of a file; None if it cannot be a prompt.

    Raises:
        InputError: it is called like one, and is not in UTF-8.
    """
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_bytes().decode('utf-8-sig')
    except UnicodeDecodeError as error:
        if needed:
            raise InputError(f'{path}: is not in UTF-8 (save it as UTF-8)') from error
        return None
    except OSError:
        return None


def _of_file(path: Path, content: str, around: tuple[str, ...], exact: tuple[str, ...]) -> _Text:
    """A text file; without tags all of it is said by the user."""
    if '<user>' not in content.lower():
        return _Text(str(path), around, '', plain_braces(content), exact)
    system, user, _ = split_roles(TextFile(path, (), content))
    return _Text(str(path), around, system, user, exact)


def _is_long(text: _Text) -> bool:
    return len(_PLACEHOLDER.sub('', text.system + text.user).strip()) >= _LEAST_LETTERS


def _of_python(path: Path, content: str, around: tuple[str, ...]) -> Iterator[_Text]:
    """Yield the prompts in a Python file, which is parsed only."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for text, line, names in _strings(tree, ()):
        found = _Text(f'{path}:{line}{f" ({names[0]})" if names else ""}', (*names, *around), '',
                      text)
        if found.kind and _is_long(found):
            yield found


def _strings(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield the texts below a node, with their lines and the names around them."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            names = (node.name, *names)
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (*(_name(target) for target in targets if _name(target)), *names)
        case ast.keyword(arg=str(name)):
            names = (name, *names)
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                own = (key.value,) if isinstance(key, ast.Constant) and isinstance(
                    key.value, str) else ()
                yield from _strings(value, (*own, *names))
            return
        case ast.Expr(value=ast.Constant()) | ast.Call(func=ast.Name(id='print')):
            return  # a docstring, or what a person is told
        case ast.expr() if (text := _text(node)) is not None:
            yield text, node.lineno, names
            return
    for child in ast.iter_child_nodes(node):
        yield from _strings(child, names)


def _name(node: ast.AST) -> str:
    """Name of what a value is assigned to, or put in; '' for none."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ''


def _text(node: ast.AST) -> str | None:
    """The text that an expression makes, with placeholders for what is put in; None for none."""
    match node:
        case ast.Constant(value=str(text)):
            return plain_braces(text)
        case ast.JoinedStr(values=parts):
            return ''.join(str(part.value) if isinstance(part, ast.Constant) else
                           f'{{{_name(part.value) or "value"}}}' for part in parts
                           if isinstance(part, ast.Constant | ast.FormattedValue))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _text(left), _text(right)
            if first is None and second is None:
                return None
            return ''.join(text if text is not None else f'{{{_name(of) or "value"}}}'
                           for text, of in ((first, left), (second, right)))
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=args):
            if method in ('format', 'strip', 'lstrip', 'rstrip', 'replace'):
                return _text(inner)
            return _text(args[0]) if method in ('dedent', 'cleandoc') and args else None
    return None
