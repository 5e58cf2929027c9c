"""Plans within texts: JSON, Python, or lines in the form of the paper.

Lists and objects are read in either notation, with comments and commas at the end
(``queries.literals``). The paper writes ``grasp(red block, [x1, y1, x2, y2])``, one a line or
several in one; so do its readers, numbered, in quotes, with names before the arguments, or as
``1. Grasp the red block [x1, y1, x2, y2]``. Everything becomes plain steps: mappings with
``action``, ``target``, and a box or a point under the name that it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sightplan.model.grounded_plan import Primitive
from sightplan.queries.literals import MOST_CHARS, find_literals
from sightplan_suites.grounded_plan.coordinates import Coords, in_order, numbers_of
from sightplan_suites.grounded_plan.fields import FieldTable

_LONGEST_CALL = 500
"""Most characters between the brackets of one step."""
_CALL = re.compile(r'(?<!\w)([A-Za-z_]\w{0,40})(\s*)\(')
_HEAD = re.compile(
    r'\s*(?:[-*•>]\s+)*(?:(?:step\s+)?(?P<number>\d{1,3})\s*[.):]\s*)?[`*_\["\']*'
    r'(?P<verb>[A-Za-z_]\w{0,40})[`*_]*', re.IGNORECASE)
"""The beginning of a line that is a step: a bullet, a number, a verb."""
_NAMED = re.compile(r'(?:^|[\s,(])(\w+)\s*[=:]\s*$')
_NUMBER = r'[-+]?\d+(?:\.\d+)?'
_BARE = re.compile(
    rf'(?:^|,)\s*({_NUMBER}(?:\s*,\s*{_NUMBER}){{3}}|{_NUMBER}\s*,\s*{_NUMBER})\s*$')
"""Four or two numbers without brackets at the end."""
_ANGLES = re.compile(rf'<\s*({_NUMBER}(?:\s*,\s*{_NUMBER})+)\s*>')
_ASSIGNED = re.compile(rf'\b([xy](?:[12]|_?min|_?max)?)\s*=\s*({_NUMBER})\s*,?')
"""Numbers with a name each, such as ``x1=100``."""
_AGAIN = re.compile(r'\b(?:final|revised|corrected|instead|rather|wait|actually)\b', re.IGNORECASE)
"""Words of a line after which a plan begins anew."""
_VERBS = frozenset(Primitive)


def literal_plans(text: str, table: FieldTable) -> tuple[list[Any], bool]:
    """Lists and objects in a text that may be plans, in order.

    Objects that are single steps make one list, which comes first, so that a whole plan counts
    before it.

    Args:
        text: of which the last ``MOST_CHARS`` characters are read.
        table: names of fields.

    Returns:
        Them, and whether the text holds a damaged one; of such a text single steps are left out.
    """
    wholes, steps = list[Any](), list[Any]()
    literals, damaged = find_literals(text[-MOST_CHARS:])
    for literal in literals:
        value = literal.value
        if isinstance(value, dict):
            (steps if is_step(value, table) else wholes).append(_unwrapped(value, table))
        elif isinstance(value, list | tuple) and any(
                isinstance(one, dict) or is_step(one, table) for one in value):
            wholes.append(list(value))
    return ([steps] if steps and not damaged else []) + wholes, damaged


def _unwrapped(value: dict[str, Any], table: FieldTable) -> Any:
    """The plan in an object: itself, what a field of it holds, or all its fields as steps."""
    if is_step(value, table) or not value.keys().isdisjoint(table.prediction['actions']):
        return value
    steps = list(value.values())
    if steps and all(isinstance(one, Mapping) and is_step(one, table) for one in steps):
        return steps
    inner = [one for one in value.values() if isinstance(one, dict)
             and not one.keys().isdisjoint(table.prediction['actions'])]
    return inner[0] if len(inner) == 1 else value


def is_step(entry: Any, table: FieldTable) -> bool:
    """Whether JSON data is a single step: it says what is done."""
    if isinstance(entry, str):
        return call_of(entry) is not None
    if isinstance(entry, list | tuple):
        return bool(entry) and isinstance(entry[0], str) and entry[0].strip().lower() in _VERBS
    entry = _lower(entry)
    return isinstance(entry, Mapping) and (any(
        isinstance(entry.get(name), str) for name in table.action['action'])
        or _verb_key(entry) is not None)


def plain_step(entry: Any, table: FieldTable) -> Any:
    """A step of a list as a mapping with ``action``, whatever form it has.

    Such as ``"grasp(cup, [1, 2, 3, 4])"``, ``{"grasp": {"target": "cup", "bbox": [1, 2, 3, 4]}}``
    and ``{"action": "grasp", "args": ["cup", [1, 2, 3, 4]]}``. What is none of these comes back as
    it is.
    """
    if isinstance(entry, str):
        return call_of(entry) or entry
    if isinstance(entry, list | tuple) and is_step(entry, table):
        return {**_arguments(entry[1:]), 'action': entry[0]}
    if not isinstance(entry, Mapping):
        return entry
    entry = {name: value if name in table.action['target'] else _read(value)
             for name, value in _lower(entry).items()}
    said = next((name for name in table.action['action'] if isinstance(entry.get(name), str)), '')
    if said:
        call = call_of(entry[said]) if '(' in entry[said] else None
        given = next((entry[name] for name in table.action['args'] if name in entry), None)
        rest = {name: value for name, value in entry.items() if name != said}
        return {**_arguments(given), **rest, **(call or {'action': entry[said]})}
    key = _verb_key(entry)
    if key is None:
        return entry
    rest = {name: value for name, value in entry.items() if name != key}
    return {**_arguments(entry[key]), **rest, 'action': key}


def _lower(entry: Any) -> Any:
    """A mapping whose names are in lower case where nothing else has the name."""
    if not isinstance(entry, Mapping):
        return entry
    return {name if name.lower() in entry else name.lower(): value
            for name, value in entry.items()}


def _read(value: Any) -> Any:
    """The numbers that a text is, such as ``"[1, 2, 3, 4]"``; else the value."""
    if isinstance(value, str) and any(letter.isdigit() for letter in value):
        text = value.strip()
        found, _ = find_literals(text if text[:1] in ('[', '(') else f'[{text}]')
        if len(found) == 1 and _form(found[0].value):
            return found[0].value
    return value


def _verb_key(entry: Mapping[str, Any]) -> str | None:
    """The verb that is the name of a step's field; None if there is none, or several."""
    keys = [key for key in entry if key.strip().lower() in _VERBS]
    return keys[0] if len(keys) == 1 and isinstance(entry[keys[0]], list | tuple | dict) else None


def _arguments(given: Any) -> dict[str, Any]:
    """Fields of a step from its arguments: a mapping, or target and numbers in a list."""
    if isinstance(given, Mapping):
        return dict(given)
    found: dict[str, Any] = {}
    for one in given if isinstance(given, list | tuple) else ():
        if isinstance(one, str):
            found.setdefault('target', one)
        elif (key := _form(one)):
            found.setdefault(key, one)
    return found


def _form(value: Any) -> str:
    """``bbox`` for four numbers, also as two corners, ``point`` for two; else ''."""
    numbers = in_order(value, Coords.PIXEL_XYXY)
    return 'point' if numbers_of(numbers, 2) else 'bbox' if numbers_of(numbers, 4) else ''


# ----------------------------------------------------------------------------------------- words


def worded_plan(text: str) -> list[dict[str, Any]]:
    """The last plan in a text in which steps stand as calls, or as lines that begin with a verb.

    A plan begins anew where numbers begin again at 1, at the fences of code, and after a line
    such as "Wait, rather:". Lines with other verbs are steps, too, if they look like the others.

    Returns:
        Its steps; none if no step has a place.
    """
    runs = [run for run in _runs(text[-MOST_CHARS:]) if any(
        {'bbox', 'point'} & _forms(step) for step in run)]
    return runs[-1] if runs else []


def call_of(text: str) -> dict[str, Any] | None:
    """The step that a text is, such as ``grasp(red cup, [1, 2, 3, 4])``; None if it is none."""
    match = _CALL.match(text.strip())
    found = None if match is None else _call(text.strip(), match)
    return None if found is None else found[0]


def _runs(text: str) -> Iterator[list[dict[str, Any]]]:
    run, counted, at = list[dict[str, Any]](), False, 0
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line)
        at = end
        head = _HEAD.match(line)
        steps = _steps_of_line(text, start, end, head)
        number = head and head['number']
        if (steps and number == '1' and counted) or line.lstrip().startswith('```') or (
                not steps and _AGAIN.search(line)):
            yield run
            run, counted = [], False
        run += steps
        counted |= bool(steps and number)
    yield run


def _steps_of_line(text: str, start: int, end: int, head: re.Match[str] | None,
                   ) -> list[dict[str, Any]]:
    """The steps that begin in a line of a text."""
    found, at = list[dict[str, Any]](), start
    first = start + head.start('verb') if head else -1
    while (match := _CALL.search(text, at, end)) is not None:
        at = match.end()
        known = match[1].lower() in _VERBS
        call = _call(text, match)
        if call is None or not (known or (
                match.start() == first and not match[2] and 'bbox' in _forms(call[0]))):
            continue
        found.append(call[0])
        at = call[1]
        if at >= end:
            break
    if not found and head and head['verb'].lower() in _VERBS:
        step = _with_place(head['verb'], text[start + head.end():end].strip().rstrip('.;,`*'))
        return [step] if {'bbox', 'point'} & _forms(step) else []
    return found


def _call(text: str, match: re.Match[str]) -> tuple[dict[str, Any], int] | None:
    """A call as a step, and where it ends; None if its bracket is not closed."""
    depth, start = 0, match.end() - 1
    for index in range(start, min(len(text), start + _LONGEST_CALL)):
        depth += (text[index] in '([') - (text[index] in ')]')
        if depth == 0:
            return _with_place(match[1], text[start + 1:index]), index + 1
    return None


def _with_place(verb: str, words: str) -> dict[str, Any]:
    """A step of a verb and its arguments in one text."""
    step: dict[str, Any] = {'action': verb}
    words = _ANGLES.sub(r'[\1]', words)
    if named := dict(_ASSIGNED.findall(words)):
        numbers: Any = {name: float(number) for name, number in named.items()}
        return {**step, _form(numbers) or 'bbox': numbers,
                'target': _name(_ASSIGNED.sub('', words))}
    literals = [one for one in find_literals(words)[0] if _form(one.value)]
    if literals:
        place, value = literals[-1], literals[-1].value
        first = place
        if len(literals) > 1 and _form(value) == _form(literals[-2].value) == 'point' and (
                not words[literals[-2].end:place.start].strip(' ,')):
            first = literals[-2]  # two corners
            value = [first.value, value]
        before, after = words[:first.start], words[place.end:]
        key = _NAMED.search(before)
        before = before if key is None else before[:key.start(1)]
        numbers = value
        step[key[1] if key else _form(value)] = numbers
        step.setdefault(_form(numbers), numbers)
        words = before if _name(before) else after
    elif bare := _BARE.search(words):
        numbers = [float(number) for number in bare[1].split(',')]
        step[_form(numbers)], words = numbers, words[:bare.start()]
    step['target'] = _name(words)
    return step


def _name(words: str) -> str:
    """The words for a thing, without quotes and without the argument's name."""
    words = re.sub(r'^\s*\w+\s*=\s*', '', words.strip().strip(',;: ').rstrip('([{<'))
    return words.strip(' \t\n,;:"\'`*')


def _forms(step: Mapping[str, Any]) -> set[str]:
    """The forms of the places that a step has: ``bbox``, ``point``."""
    return {form for name, value in step.items() if name not in ('action', 'target')
            and (form := _form(value))}
