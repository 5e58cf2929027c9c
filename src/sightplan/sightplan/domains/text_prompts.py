"""Prompts as text files, such as those in a clone of a paper's repository, read as templates.

A file holds ``<system>...</system><user>...</user>``, with names in braces where the code of its
authors puts something in: ``{image}``, ``{goal_string}``. What the files leave to that code, a
domain's ``text_prompts.yaml`` says. File names are not prescribed: what a file asks for is known
by its content, and by the words in its path (``cot``, ``mem``, the name of a domain). A file
without these tags is known by its name (``action.txt``): it is the text of the system role, and
all else is as in the prompt that it replaces.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from sightplan.domains.wording import BY_NAME, read_record, read_yaml
from sightplan.model import InputError
from sightplan.model.paths import visible_folders
from sightplan.model.reading import Record

CODE_FILE = 'text_prompts.yaml'
"""File in a domain's folder: what text prompts leave to the code that fills them."""

_MOST_FILES, _MOST_BYTES = 50_000, 1 << 16
_SUFFIXES = ('', '.txt', '.md', '.prompt', '.tmpl', '.template', '.jinja')
_USER, _SYSTEM = '<user>', '<system>'
_PLACEHOLDER = re.compile(r'\{([A-Za-z_][A-Za-z0-9_]*)\}')
_IMAGE = re.compile(r'\{image\}|<image>', re.IGNORECASE)
_MEANINGS = {
    'question': 'question', 'question_string': 'question',
    'goal': 'goal', 'goal_string': 'goal', 'goal_description': 'goal',
    'previous_actions': 'history', 'history': 'history',
    'privileged_info': 'privileged_facts', 'privileged_information': 'privileged_facts',
    'additional_information': 'privileged_facts', 'additional_info': 'privileged_facts',
    'memory': 'memory', 'memory_context': 'memory', 'memory_string': 'memory'}
"""Meanings of the placeholders of text prompts: the names that templates have for them."""
_KNOWN = '|'.join(['image', *_MEANINGS])
_LOOSE = re.compile(rf'\{{\{{\s*({_KNOWN})\s*\}}\}}|\{{\s*({_KNOWN})\s*\}}', re.IGNORECASE)
"""Known placeholders as Jinja writes them (``{{ goal }}``), or with spaces in their braces."""
_NAMELESS = re.compile(r'\{[0-9]*\}')
_IN = {'questions': ('question', 'memory'), 'planning': ('goal', 'history', 'privileged_facts')}
"""Placeholders that a prompt of each kind may have besides the image, by their meanings."""
NAMES = tuple(f'{task}{memory}{cot}' for task in ('ground', 'plan', 'action')
              for memory in (('', '_mem') if task == 'ground' else ('',)) for cot in ('', '_cot'))
"""Names of the prompts that a folder of text files may hold."""


class _Questions(Record):
    """The part of prompts for questions that their text files leave to the code.

    Attributes:
        max_tokens: most tokens of a reply.
        words: questions, by predicate, that their code asks in other words than the domain.
    """

    max_tokens: int = 1024
    words: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})


class _Planning(Record):
    """The part of prompts for planning that their text files leave to the code.

    Attributes:
        max_tokens: most tokens of a reply.
        needed: placeholders, by their names in templates, that a file must have.
        outcome_keys: keys of an earlier action, in the JSON list of them, that hold its outcome;
            the words of ``outcomes`` give a value for each, with "; " between them.
        parameters: whether the parameters of an earlier action are a list, or have names.
        item: how a line of a list is written, such as a fact.
        facts: words of privileged facts that differ from the domain's.
        outcomes: words for outcomes of a proposal; values of ``Became``.
        own: whether what a file does not say (earlier steps, the words before pictures) is as in
            the domain's own template of the name, and not as in the general one.
        untold_if: predicate; with ``Privileged.REFERENCE`` a fact is told, also about what is in
            view, unless this is true of its first object. '': only facts out of view are told.
    """

    max_tokens: int = 1024
    needed: tuple[str, ...] = ('goal', 'history')
    outcome_keys: Annotated[tuple[str, ...], pydantic.Field(min_length=1)] = ('outcome',)
    parameters: Literal['names', 'list'] = 'names'
    item: str = '{text}'
    facts: Annotated[dict[str, str], BY_NAME] = pydantic.Field(default={})
    outcomes: dict[str, str] = pydantic.Field(default={})
    untold_if: str = ''
    own: bool = False

    @pydantic.model_validator(mode='after')
    def _one_value_for_each_key(self) -> _Planning:
        for name, words in self.outcomes.items():
            if len(words.split('; ')) != len(self.outcome_keys):
                raise ValueError(f'outcomes.{name}: {words!r} must hold a value for each of '
                                 f'{", ".join(self.outcome_keys)}, with "; " between them')
        return self


class FillingCode(Record):
    """``text_prompts.yaml`` of a domain.

    Attributes:
        called: words in the path of a file that say it is of this domain.
        questions, planning: what files of each kind leave to the code.
    """

    called: tuple[str, ...] = ()
    questions: _Questions = _Questions()
    planning: _Planning = _Planning()


def filling_code(domain: Path) -> tuple[FillingCode, list[Path]]:
    """Read ``text_prompts.yaml`` in the folder of a domain, which need not have one.

    Returns:
        its content, and the file, or none.

    Raises:
        DomainError: the file is wrong; names file and key.
    """
    file = domain / CODE_FILE
    return (read_record(FillingCode, file), [file]) if file.is_file() else (FillingCode(), [])


@dataclass(frozen=True)
class PromptOrigin:
    """Origin of prompts that replace the domain's own.

    Attributes:
        folder: name of the folder, without the way to it.
        sha256: SHA-256 over names and contents of all its prompt files, first 12 hex digits.
        official: whether they are text files as paper authors publish them; if not, they are
            templates of one's own.
    """

    folder: str
    sha256: str
    official: bool

    def identity(self) -> dict[str, Any]:
        """Return the entry ``prompts`` of the identity of a run."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class TextFile:
    """A text file with a prompt.

    Attributes:
        path: where it is.
        words: the words of its path below the folder, lower case, in order.
        text: its content.
    """

    path: Path
    words: tuple[str, ...]
    text: str

    @property
    def tagged(self) -> bool:
        """Whether tags tell the texts of system and user apart; if not, all is of the system."""
        return _USER in self.text.lower()

    @property
    def name(self) -> str:
        """The name of the prompt that it holds, such as ``ground_cot``."""
        if self.path.stem.lower() in NAMES:
            return self.path.stem.lower()
        placeholders = {_MEANINGS.get(name.lower()) for name in _PLACEHOLDER.findall(self.text)}
        if placeholders & {'goal', 'history'}:
            whole = re.search(r'["\']plan["\']\s*:', self.text) is not None
            return ('plan' if whole else 'action') + self._reasons
        memory = 'memory' in placeholders or {'mem', 'memory'} & set(self.words)
        return f'ground{"_mem" if memory else ""}{self._reasons}'

    @property
    def _reasons(self) -> str:
        """``_cot`` where reasons are asked for: by the file's path, else by its content."""
        words = self.words
        for place, word in enumerate(words):
            if word == 'cot':
                return '' if words[:place][-1:] in (('no',), ('without',), ('non',)) else '_cot'
            if word in ('nocot', 'noncot'):
                return ''
        asked = re.search(r'<explanation>|["\']explanation["\']\s*:', self.text, re.IGNORECASE)
        return '_cot' if asked else ''


class PromptFolder:
    """A folder with prompts that replace those of a domain.

    It holds text files at any depth, as a clone of the authors' repository does, or templates
    such as a domain may have in ``prompts/`` (``NAME.yaml``, at the top), or both.

    Args:
        folder: the folder.
        domain: folder of the domain whose prompts they replace.

    Attributes:
        folder: the folder.
        origin: its record for the identity of a run.
        code: what the text files leave to code.
        code_files: the domain's file that says so, if it has one.

    Raises:
        InputError: there is no such folder, or it holds no prompts.
    """

    def __init__(self, folder: Path, domain: Path) -> None:
        self.folder = folder = folder.expanduser()
        if not folder.is_dir():
            raise InputError(f'prompts: {folder}: no such folder (give the clone that holds the '
                             'prompt files, or the folder that they lie in)')
        self.code, self.code_files = filling_code(domain)
        called = {domain.name.lower(), *self.code.called}
        every = list(text_files(folder, NAMES))
        self._files = _of_domain(every, called, _other_names(called), folder)
        self._yaml = {path.stem: path for path in sorted(folder.glob('*.yaml'))
                      if _is_template(path)}
        if not self._files and not self._yaml:
            raise InputError(_none_found(folder, domain.name, every))
        self.origin = origin_of(folder, every, self._yaml.values())

    def names(self) -> set[str]:
        """Return the names of all prompts that the folder holds."""
        found = {file.name for file in self._files} | set(self._yaml)
        if 'memory' in found:
            found |= {name.replace('ground', 'ground_mem', 1) for name in found
                      if name in ('ground', 'ground_cot')}
        return found

    def template(self, name: str) -> Path | None:
        """Return the file of a template of one's own; None if there is none of this name."""
        return self._yaml.get(name)

    def text(self, name: str) -> tuple[Path, dict[str, Any]] | None:
        """Return a text file and its data as a template; None if there is none for the prompt.

        For ``ground_mem`` and ``ground_mem_cot``, which say the same as ``ground`` and
        ``ground_cot`` with a memory at the end, the files of those are used where the folder has
        the words of the memory (``memory.yaml``).

        Raises:
            InputError: several files may be meant, or one cannot be used; names the file, what
                is wrong, and the remedy.
        """
        found = [file for file in self._files if file.name == name]
        if not found and '_mem' in name and 'memory' in self._yaml:
            found = [file for file in self._files if file.name == name.replace('_mem', '')]
        exact = [file for file in found if file.path.stem.lower() == name]
        found = exact or found
        if len(found) > 1:
            raise InputError(
                f'prompts: several files may be the prompt {name}: '
                f'{", ".join(str(file.path) for file in found)} (copy the right one as {name}.txt '
                'into a folder, and give that folder)')
        if not found:
            return None
        kind = 'questions' if name.startswith('ground') else 'planning'
        data = _template_data(found[0], name, kind, self.code)
        return found[0].path, data

    def missing(self, name: str) -> InputError:
        """Return the error about a prompt that the folder has no file for."""
        there = [f'{file.name} ({file.path})' for file in self._files]
        there += [f'{stem} ({path})' for stem, path in self._yaml.items()]
        remedy = f'add {name}.txt ({_form(name)}), or a template {name}.yaml'
        if '_mem' in name and {'ground', 'ground_cot'} & self.names():
            remedy = ('the files for questions are there, and the words of a memory are not: add '
                      'memory.yaml with kind: memory and the keys pair, failed, withheld and '
                      'unobserved of memory')
        return InputError(f'prompts: {self.folder} has no file for the prompt {name}; it has '
                          f'{", ".join(there)} ({remedy})')


def _form(name: str) -> str:
    holds = ('{image}' if name.startswith('ground') else
             '{goal_string}, {previous_actions}, {image}, and "plan" or "action" of the reply')
    return f'{_SYSTEM}...</system>{_USER}...</user> with {holds}'


def _none_found(folder: Path, domain: str, every: Iterable[TextFile]) -> str:
    others = ', '.join(str(file.path) for file in every)
    if others:
        return (f'prompts: {folder} has no prompt files of domain {domain}, only of others: '
                f'{others} (give a clone with files of this domain, or copy them into a folder '
                f'named {domain})')
    return (f'prompts: {folder} has no prompt files: text files (.txt, .md) with {_USER} and '
            '{image} in them, or templates NAME.yaml (give the clone that holds them, or the '
            'folder that they lie in)')


def _words(text: str) -> list[str]:
    return [word for word in re.split(r'[^a-z0-9]+', text.lower()) if word]


def text_files(folder: Path, names: Collection[str]) -> Iterator[TextFile]:
    """Yield the text files with prompts; where some lie in folders of prompts, only those.

    Args:
        folder: where they lie, at any depth.
        names: of prompts; files of other names count only if they have a user tag.

    Raises:
        InputError: a file is not in UTF-8, or there are too many.
    """
    found = []
    places = (path for place in visible_folders(folder) for path in sorted(place.iterdir()))
    for number, path in enumerate(places):
        if number >= _MOST_FILES:
            raise InputError(f'prompts: {folder} holds more than {_MOST_FILES} files (give the '
                             'folder that the prompt files lie in)')
        if path.suffix.lower() in _SUFFIXES and (text := _text(
                path, path.stem.lower() in names)) is not None:
            below = path.relative_to(folder).with_suffix('')
            found.append(TextFile(path, tuple(_words(str(below))), text))
    below_prompts = [file for file in found if any(
        'prompt' in part.lower() for part in file.path.relative_to(folder).parts[:-1])]
    yield from below_prompts or found


def origin_of(folder: Path, texts: Collection[TextFile], templates: Collection[Path],
              ) -> PromptOrigin:
    """Return the record of a folder of prompts, for the identity of a run."""
    paths = [*(file.path for file in texts), *templates]
    return PromptOrigin(folder.resolve().name, _digest(folder, paths), bool(texts))


def _text(path: Path, named: bool) -> str | None:
    """Return the text of a prompt file, with known placeholders in single braces; None if none.

    Args:
        path: of the file.
        named: whether it is one by its name, with or without a user tag.

    Raises:
        InputError: it is one, and is not in UTF-8.
    """
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    if not named and _USER.encode() not in content.replace(b'\0', b'').lower():
        return None
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise InputError(f'{path}: is not in UTF-8 (save it as UTF-8, or move it away)') from error
    return _LOOSE.sub(lambda match: f'{{{match[1] or match[2]}}}', text)


def _other_names(called: set[str]) -> set[str]:
    """Return the words by which files of other domains are known."""
    found: set[str] = set()
    for path in Path(__file__).resolve().parent.glob(f'*/{CODE_FILE}'):
        found |= {path.parent.name, *read_record(FillingCode, path).called}
    return found - called


def _of_domain(files: list[TextFile], called: set[str], others: set[str], folder: Path,
               ) -> list[TextFile]:
    """Return the files that are of a domain, by the words of their paths.

    Files whose paths name no domain count if the folder itself is named by the domain, or if it
    is not named by another and no file of it is.
    """
    mine = [file for file in files if called & set(file.words)]
    if mine:
        return mine
    place = folder.resolve()
    around = set(_words(f'{place.parent.name} {place.name}'))
    if called & around:
        return [file for file in files if not others & set(file.words)]
    named = others & around or any(others & set(file.words) for file in files)
    return [] if named else files


def _is_template(path: Path) -> bool:
    try:
        return 'kind' in read_yaml(path)
    except InputError:
        return False


def _digest(folder: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        title = path.relative_to(folder).as_posix()
        digest.update(title.encode() + b'\0' + path.read_bytes() + b'\0')
    return digest.hexdigest()[:12]


# ------------------------------------------------------------------------- from text to template


def _template_data(file: TextFile, name: str, kind: str, code: FillingCode) -> dict[str, Any]:
    """Return the data of a template, as a YAML file would hold them.

    Raises:
        InputError: the file cannot be used; names file, placeholder and remedy.
    """
    system, user, closed = split_roles(file)
    for text in (system, user):
        _check_placeholders(file, text, kind)
    if not file.tagged:
        if _IMAGE.search(system):
            raise InputError(f'{file.path}: prompt {name}: {{image}} stands in a text of the '
                             f'system alone (mark the parts by {_SYSTEM} and {_USER})')
        return {'kind': kind, 'system': _renamed(system).strip()}
    images = _IMAGE.findall(user)
    if len(images) != 1 or _IMAGE.search(system):
        raise InputError(
            f'{file.path}: prompt {name}: {{image}} stands {len(images)} times in the user part'
            f'{" and in the system part" if _IMAGE.search(system) else ""} (it must stand once, '
            'in the user part)')
    before, after = (_renamed(part) for part in _IMAGE.split(user))
    data: dict[str, Any] = {'kind': kind, 'system': _renamed(system).strip(),
                            'before_image': before, 'after_image': after,
                            'reasoning': name.endswith('_cot')}
    if kind == 'questions':
        return data | _of_questions(file, data, closed, code.questions)
    return _of_planning(file, name, data, code.planning)


def split_roles(file: TextFile) -> tuple[str, str, bool]:
    """Return system and user text, and whether the user part has its closing tag.

    Raises:
        InputError: there are two user parts.
    """
    lower = file.text.lower()
    if not file.tagged:
        return plain_braces(file.text), '', True
    start = lower.index(_USER) + len(_USER)
    end = lower.find('</user>', start)
    if _USER in lower[start:]:
        raise InputError(f'{file.path}: has {_USER} twice (a prompt is one request; keep one)')
    system = ''
    if _SYSTEM in lower:
        begin = lower.index(_SYSTEM) + len(_SYSTEM)
        stop = lower.find('</system>', begin)
        if stop < 0:
            stop = lower.index(_USER) if begin < start else len(lower)
        system = file.text[begin:stop]
    user = file.text[start:] if end < 0 else file.text[start:end]
    return plain_braces(system), plain_braces(user), end >= 0


def plain_braces(text: str) -> str:
    """Return a text whose braces are doubled, as Python's ``format`` wants them, with single ones.

    A text is one of those if every brace that is not part of a placeholder is doubled.
    """
    if '{{' not in text:
        return text
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return text
    if all(field is None or (field.isidentifier() and not spec and not conversion)
           for _, field, spec, conversion in parts):
        return ''.join(literal + ('' if field is None else f'{{{field}}}')
                       for literal, field, _, _ in parts)
    return text


def _check_placeholders(file: TextFile, text: str, kind: str) -> None:
    if kind == 'questions' and (match := _NAMELESS.search(text)):
        raise InputError(f'{file.path}: placeholder {match[0]} has no name (write {{question}} in '
                         'a copy of the file, if the question belongs there)')
    for name in _PLACEHOLDER.findall(text):
        if name.lower() != 'image' and _MEANINGS.get(name.lower()) not in _IN[kind]:
            known = ['image', *(name for name, means in _MEANINGS.items() if means in _IN[kind])]
            raise InputError(
                f'{file.path}: placeholder {{{name}}} is unknown in a prompt for {kind} (known: '
                f'{", ".join(known)}; rename it, or write its text into a copy of the file)')


def _renamed(text: str) -> str:
    """Return a text whose placeholders have the names of templates."""
    return _PLACEHOLDER.sub(
        lambda match: '{' + _MEANINGS.get(match[1].lower(), match[1]) + '}', text)


def _of_questions(file: TextFile, data: Mapping[str, Any], closed: bool, code: _Questions,
                  ) -> dict[str, Any]:
    """Return the words around the question.

    The authors' code puts the question at the end of the file and then cuts the user part out. A
    file that lacks the closing tag so loses the last character of the question, and a model is
    asked without a question mark. The same is done here.
    """
    if '{question}' in data['before_image'] or '{question}' in data['system']:
        raise InputError(f'{file.path}: {{question}} stands before {{image}} (put it behind: '
                         'questions about one picture share what stands before them)')
    after, has, tail = data['after_image'].partition('{question}')
    if '{question}' in tail:
        raise InputError(f'{file.path}: has {{question}} twice (keep one)')
    cut = not closed and not tail.strip()
    if '{memory}' in tail:
        raise InputError(f'{file.path}: {{memory}} stands behind {{question}} (put it before)')
    if '{memory}' not in data['system'] + data['before_image'] + after:
        after = f'{after.rstrip()}\n\n{{memory}}'
    asked = '{question_cut}' if cut else '{question}'
    return {'max_tokens': code.max_tokens, 'after_image': after,
            'question': asked + (tail.rstrip() if has else '')}


def _of_planning(file: TextFile, name: str, data: dict[str, Any], code: _Planning,
                 ) -> dict[str, Any]:
    """Return the words of a planning prompt.

    The section of ``{privileged_facts}``, from its heading on, is left out without any facts.
    """
    words = ''.join(data[key] for key in ('system', 'before_image', 'after_image'))
    theirs = {means: '{' + '} or {'.join(n for n, m in _MEANINGS.items() if m == means) + '}'
              for means in _IN['planning']}
    for means in code.needed:
        if f'{{{means}}}' not in words:
            raise InputError(f'{file.path}: prompt {name}: lacks {theirs.get(means, means)} (put '
                             'it where it is to be said)')
    section = '{facts}'
    texts: dict[str, str] = {}
    for key in ('before_image', 'after_image'):
        match = re.search(r'(?:^[ \t]*#+[^\n]*\n\s*)?\{privileged_facts\}', data[key],
                          re.MULTILINE)
        if match:
            section = match[0].replace('{privileged_facts}', '{facts}')
            texts[key] = data[key].replace(match[0], '{privileged_facts}')
    if code.own:
        del data['reasoning']
        return {**data, **texts, 'max_tokens': code.max_tokens, 'done': ''}
    return {**data, **texts, 'max_tokens': code.max_tokens,
            'single': name.startswith('action'), 'item': code.item, 'facts': code.facts,
            'privileged_facts': section, 'done': '',
            'earlier': {'keys': code.outcome_keys, 'parameters': code.parameters},
            **({'outcomes': code.outcomes} if code.outcomes else {})}
