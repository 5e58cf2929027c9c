"""Spoilt input, drawn by hypothesis from good one: bytes, texts, trees, pictures and bags.

Besides its own awkward strings and numbers hypothesis draws those that stand in our source text,
such as names of fields. What is written out here are the inputs that it does not come upon:
formats with checksums and lengths, what unpacks to very much, and very deep nesting.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import hypothesis
import yaml
from hypothesis import strategies as st

from sightplan.model.yaml_text import load_yaml

T = TypeVar('T')


class Draw(Protocol):
    """Takes a value from a strategy."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T:
        """A value of it."""


Change = Callable[[Draw, bytes, bytes], bytes]
"""Spoils an input; may take parts of another one of the same reader."""

MOST_BYTES = 4 << 20
"""No spoilt input is larger; what a change makes is at most a few times as large."""
_TIMES = st.sampled_from((2, 2, 3, 10, 1000, 100_000))
_DEPTHS = st.sampled_from((20, 60, 500, 2000, 100_000))
_CHARACTERS = st.text(st.characters(), max_size=20)  # halves of characters, too
_LENGTHS = st.one_of(
    st.sampled_from((0, 1, 2**15, 2**31, 2**32, 2**40, 2**63, 2**64 - 1)),
    st.integers(0, 2**64 - 1))
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), _CHARACTERS,
    st.sampled_from((math.nan, math.inf, -math.inf, -0.0, 10**400, 1e308)),
    st.sampled_from(('x' * 100_000, '../..', '~nobody/x', '1e5', 'null', '\0')))
_VALUES = st.recursive(_SCALARS, lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(_CHARACTERS, inner, max_size=4)), max_leaves=8)
_LARGE = ([0] * 5000, ['x'] * 2000, {str(number): number for number in range(2000)})
_NUMBERS = st.one_of(
    st.integers().map(str), st.floats().map(str),
    st.sampled_from(('1e999', '9' * 5000, '0x7fffffffffffffff', '1_000', '--5', '1.2.3', '٣',
                     '0.1' + '0' * 3000)))
_TOKEN = re.compile(rb'[+-]?\d[\d.eE+-]*|[A-Za-z_]\w*')


def draw_spoilt(form: str, data: bytes, other: bytes, seed: int) -> bytes:
    """A good input spoilt once, or a few times; the same seed spoils it in the same way.

    Args:
        form: of it, a key of ``FORMS``.
        data: the input.
        other: another one of the same reader.
        seed: decides, together with the strings and numbers in the modules that are loaded.
    """
    drawn: list[bytes] = [data]

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=2, phases=[hypothesis.Phase.generate], database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(_spoilt(form, data, other))
    def keep(one: bytes) -> None:
        drawn.append(one)  # the first is always the simplest

    keep()
    return drawn[-1]


@st.composite
def _spoilt(draw: Draw, form: str, data: bytes, other: bytes) -> bytes:
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
        change = draw(st.sampled_from(FORMS[form]))
        try:
            data = change(draw, data, other)[:MOST_BYTES]
        except (RecursionError, ArithmeticError, ValueError, MemoryError):
            data = overwrite(draw, data, other)  # it is too deep or too large for that change
    return data


def _times(wanted: int, size: int) -> int:
    """Number of times that something of a size may be repeated."""
    return min(wanted, 1 + MOST_BYTES // max(1, size))


def _piece(draw: Draw, data: bytes) -> tuple[int, int]:
    """Beginning and end of a piece, mostly a small one."""
    start = draw(st.integers(0, len(data)))
    return start, min(len(data), start + draw(st.sampled_from((1, 4, 30, 500, len(data)))))


# ------------------------------------------------------------------------------ bytes and texts


def overwrite(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Random bytes, or a number as lengths are written, over what is there."""
    number = st.builds(lambda value, width, order: (value % 2**(8 * width)).to_bytes(width, order),
                       _LENGTHS, st.sampled_from((1, 2, 4, 8)), st.sampled_from(('little', 'big')))
    new = draw(st.one_of(st.binary(min_size=1, max_size=64), number))
    at = draw(st.integers(0, len(data)))
    return data[:at] + new + data[at + len(new):]


def cut(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Its beginning, followed by nothing, by the end of another one, or by what is left out."""
    start, end = _piece(draw, data)
    return data[:start] + draw(st.sampled_from((b'', data[end:], other[end:])))


def insert(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Characters that nobody expects, or a piece again and again."""
    start, end = _piece(draw, data)
    new = draw(_CHARACTERS).encode('utf-8', 'surrogatepass')
    piece = draw(st.sampled_from((new, new, data[start:end])))
    return data[:end] + piece * _times(draw(_TIMES), 4 * len(piece)) + data[end:]


def replace_token(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Another word or number in the place of one."""
    found = list(_TOKEN.finditer(data))
    if not found:
        return insert(draw, data, other)
    match = draw(st.sampled_from(found))
    others = sorted({*_TOKEN.findall(data), *_TOKEN.findall(other)})
    word = match.group()
    new = draw(st.one_of(
        st.sampled_from(others), _NUMBERS.map(str.encode),
        _CHARACTERS.map(lambda text: text.encode('utf-8', 'surrogatepass')),
        st.sampled_from((b'', word.upper(), b'"' + word + b'"', b'x' * 100_000))))
    return data[:match.start()] + new + data[match.end():]


def change_lines(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Lines left out, repeated, indented, in another order, or with other ends."""
    lines = data.split(b'\n')
    at = draw(st.integers(0, len(lines) - 1))
    line = lines[at]
    lines[at:at + 1] = draw(st.sampled_from((
        [], [line] * _times(1000, len(line)), [b'  ' + line], [b'\t' + line], [b'- ' + line],
        [line.strip()], lines[at:at + 2][::-1], [line])))
    return bytes(draw(st.sampled_from(
        (b'\n', b'\n', b'\n', b'\r\n', b'\r', b' ', '\u2028'.encode()))).join(lines))


def nest(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Brackets in brackets, closed or not."""
    opening, closing = draw(st.sampled_from((
        (b'(', b')'), (b'[', b']'), (b'{"a":', b'}'), (b'{a: ', b'}'), (b'- ', b''),
        (b'<a>', b'</a>'), (b'(and ', b')'), (b'(not ', b')'), (b'[{"action":', b'}]'),
        (b'!!seq [', b']'), (b'"', b'"'), (b'\\', b''), (b'<think>', b'</think>'))))
    depth = draw(_DEPTHS)
    inside = draw(st.sampled_from((b'1', data[:1000])))
    nested = opening * depth + inside + closing * draw(st.sampled_from((depth, 0, depth - 1)))
    at = draw(st.integers(0, len(data)))
    return bytes(draw(st.sampled_from((nested, data[:at] + nested + data[at:]))))


def lengthen(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A very long line or word: the ways of a slow pattern."""
    at = draw(st.integers(0, len(data)))
    unit = draw(st.sampled_from((b'a', b' ', b'x ', b'1,', b'[', b'"', b'yes ', b'=', b'-', b'\t',
                                 b'move ', b'<', b'a.', b'(', b'\n ', b'0.5 ',
                                 data[at:at + 20] or b'y')))
    size = draw(st.sampled_from((1000, 100_000, 1_000_000)))
    return data[:at] + unit * (size // len(unit)) + data[at:]


def empty(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Draw a file without content: no byte, one blank or zero byte, or only zero bytes."""
    return bytes(draw(st.sampled_from((b'', b'\0', b' ', b'\n', b'\0' * 10_000))))


# ----------------------------------------------------------------------------------------- trees


def _places(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Keys and numbers that lead to each value below a tree."""
    items = (tree.items() if isinstance(tree, dict) else
             enumerate(tree) if isinstance(tree, list) else ())
    for key, value in items:
        yield (*place, key)
        yield from _places(value, (*place, key))


def change_tree(draw: Draw, tree: Any, other: Any) -> Any:
    """A tree of its own in which one value or key is another, is not there, or is repeated."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places or draw(st.integers(0, 30)) == 30:
        return draw(st.one_of(_VALUES, st.just(other), st.just([tree])))
    *above, key = draw(st.sampled_from(places))
    holder = functools.reduce(lambda value, step: value[step], above, tree)
    value = holder[key]
    what = draw(st.sampled_from(('another',) * 4 + (
        'none', 'renamed', 'in a list', 'in a mapping', 'a text', 'copied', 'repeated', 'large')))
    if what == 'none':
        del holder[key]
    elif what == 'renamed' and isinstance(holder, dict):
        holder[draw(st.one_of(_CHARACTERS, st.just(f'{key}x'), st.just(str(key).upper())))] = (
            value if draw(st.booleans()) else holder.pop(key))
    elif what == 'copied':
        place = draw(st.sampled_from(places))
        holder[key] = copy.deepcopy(functools.reduce(lambda part, step: part[step], place, tree))
    elif what == 'repeated' and isinstance(holder, list):
        holder[key:key] = [value] * _times(draw(_TIMES) % 9999, len(repr(value)))
    elif what == 'another' and isinstance(value, (int, float)) and draw(st.booleans()):
        holder[key] = draw(st.one_of(st.integers(), st.floats(), st.just(-value)))
    else:
        holder[key] = {'in a list': [value], 'in a mapping': {'a': value}, 'a text': str(value),
                       'large': draw(st.sampled_from(_LARGE)), }.get(what) or draw(_VALUES)
    return tree


@functools.lru_cache(maxsize=256)
def _parsed(data: bytes, form: str) -> Any:
    """The content of an input; None where it cannot be read."""
    try:
        return json.loads(data) if form == 'json' else load_yaml(data)
    except (ValueError, RecursionError, yaml.YAMLError):
        return None


def _changed(draw: Draw, data: bytes, other: bytes, form: str) -> Any:
    tree, second = _parsed(data, form), _parsed(other, form)
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 4)))):
        tree = change_tree(draw, tree, second)
    return tree


def change_json(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Some values of a JSON text are others."""
    text = json.dumps(_changed(draw, data, other, 'json'), ensure_ascii=draw(st.booleans()))
    return text.encode('utf-8', 'surrogatepass')


def change_json_line(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Some values of one line are others, or the line is cut, left out or doubled."""
    lines = [line for line in data.split(b'\n') if line.strip()] or [data]
    at = draw(st.integers(0, len(lines) - 1))
    line = lines[at]
    changed = change_json(draw, line, draw(st.sampled_from(lines)))
    lines[at:at + 1] = draw(st.sampled_from(
        ([changed],) * 6 + ([], [line] * 2, [line[:len(line) // 2]])))
    return b'\n'.join(lines) + draw(st.sampled_from((b'\n', b'')))


def change_yaml(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Some values of a YAML text are others; seldom one is a bomb of aliases."""
    tree = _changed(draw, data, other, 'yaml')
    if draw(st.integers(0, 20)) == 20:
        depth, width = draw(st.sampled_from(((12, 10), (4, 3), (40, 2))))
        bomb: Any = 'lol'
        for _ in range(depth):
            bomb = [bomb] * width
        tree = {**tree, draw(st.sampled_from(sorted(map(str, tree)) or ['a'])): bomb} if (
            isinstance(tree, dict)) else bomb
    try:
        return bytes(yaml.dump(tree, Dumper=getattr(yaml, 'CSafeDumper', yaml.SafeDumper),
                               allow_unicode=draw(st.booleans()), encoding='utf-8'))
    except (UnicodeError, yaml.YAMLError):
        return insert(draw, data, other)


_YAML_VALUES = (
    b'&a [*a]', b'&a {b: *a}', b'2026-99-99', b'2026-01-01', b'12:30:45', b'0o99', b'0b2',
    b'!!python/object/apply:os.system [id]', b'!!binary "%%%"', b'!!set {a, b}', b'!!omap [a]',
    b'!!timestamp x', b'!!int x', b'!!float "."', b'? [a, b]\n: c', b'<<: [*a]', b'<<: 1', b'*b',
    b'!<tag:x> y', b'%YAML 9.9', b'---\na: 1\n---\nb: 2', b'{a: 1, a: 2}', b'[a, b', b'"\\ud800"',
    b'"\\U00110000"', b'on', b'.inf', b'-.nan', b'~', b'|\n  text', b'>9\n x', b'=', b'0x',
    b'1__0', b'190:20:30', b'!!float 1:90', b'0x' + b'f' * 400, b'{[1]: 2}', b'{{a: 1}: 2}',
    b'!!str', b'? ')
"""Values that YAML has and nobody expects."""


def insert_yaml(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A value of YAML's own in the place of that of a line, or of all."""
    value = draw(st.sampled_from(_YAML_VALUES))
    lines = data.split(b'\n')
    at = draw(st.integers(0, len(lines) - 1))
    head, colon, _ = lines[at].partition(b': ')
    lines[at] = head + colon + value if colon else draw(st.sampled_from((value, head + value)))
    return bytes(draw(st.sampled_from((b'\n'.join(lines),) * 9 + (value,))))


# ------------------------------------------------------------------------------------------ PDDL


def change_group(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A group in parentheses left out, repeated, wrapped, or in the place of another."""
    groups = _groups(data)
    if not groups:
        return nest(draw, data, other)
    start, end = draw(st.sampled_from(groups))
    group = data[start:end]
    a, b = draw(st.sampled_from(_groups(other) or ((0, 0),)))
    count, kind = draw(st.sampled_from((10, 300, 20_000))), draw(
        st.sampled_from((b'block', b'object', b'movable', b'piece')))
    new = draw(st.sampled_from((
        b'', group * 2, group * _times(1000, len(group)), b'(not ' + group + b')',
        b'(and ' + group + b')', b'(forall (?x - object) ' + group + b')',
        b'(when ' + group * 2 + b')', b'(or ' + group * 3 + b')', b'(' + group + b')',
        other[a:b], group[1:-1], b'(= ?x ?x)', b'()', b'(increase (total-cost) 1)',
        b'(:derived (p) (p))',
        b'(:objects ' + b' '.join(b'o%d' % n for n in range(count)) + b' - ' + kind + b')')))
    return data[:start] + new + data[end:]


@functools.lru_cache(maxsize=256)
def _groups(data: bytes) -> tuple[tuple[int, int], ...]:
    """Beginning and end of each group in parentheses."""
    found, opened = [], []
    for match in re.finditer(rb'[()]', data):
        if match.group() == b'(':
            opened.append(match.start())
        elif opened:
            found.append((opened.pop(), match.end()))
    return tuple(found)


# -------------------------------------------------------------------------------------- pictures


def claim_png(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A PNG that claims another size, depth or kind of pixels, with a right checksum."""
    if data[:8] != b'\x89PNG\r\n\x1a\n':
        return overwrite(draw, data, other)
    head = list(struct.unpack('>IIBBBBB', data[16:29]))
    for at in draw(st.sets(st.integers(0, 6), min_size=1, max_size=3)):
        sizes = (0, 1, 7, 2000, 20_000, 65_535, 2**31 - 1, 2**32 - 1)
        head[at] = draw(st.sampled_from(sizes)) if at < 2 else draw(st.integers(0, 255))
    packed = struct.pack('>IIBBBBB', *head)
    return data[:16] + packed + _crc(b'IHDR' + packed) + data[33:]


def bomb_png(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A small PNG that unpacks to a very large picture, or a text of it that does."""
    if draw(st.booleans()):
        return data[:33] + _chunk(b'zTXt', b'a\0\0' + zlib.compress(bytes(16 << 20))) + data[33:]
    side = draw(st.sampled_from((3000, 9000, 20_000, 30_000)))
    head = struct.pack('>IIBBBBB', side, side, draw(st.sampled_from((1, 8))), 0, 0, 0, 0)
    content = zlib.compress(bytes(min(side * side, 8 << 20)), 1)
    return b'\x89PNG\r\n\x1a\n' + _chunk(b'IHDR', head) + _chunk(b'IDAT', content) + _chunk(
        b'IEND', b'')


def other_picture(draw: Draw, data: bytes, other: bytes) -> bytes:
    """Pictures of other kinds, most of them damaged or dangerous."""
    huge, noise = draw(st.sampled_from((4, 60_000, 2**31 - 1))), draw(st.binary(max_size=60))
    return bytes(draw(st.sampled_from((
        b'P6\n%d %d\n255\n' % (huge, huge), b'P5\n2 2\n65535\n' + bytes(8),
        b'P4\n9 9\n' + bytes(18), b'P2\n2 2\n255\n1 2 3 x', b'Pf\n1 1\n-1.0\n' + bytes(4),
        b'BM' + struct.pack('<IHHIIiiHHIIiiII', 58, 0, 0, 54, 40, huge, huge, 1, 24, *bytes(6)),
        b'GIF89a' + struct.pack('<HHBBB', huge & 65535, huge & 65535, 0x80, 0, 0) + bytes(6)
        + b',' + struct.pack('<HHHHB', 0, 0, huge & 65535, huge & 65535, 0) + noise,
        b'II*\0\x08\0\0\0\x01\0\0\x01\x04\0\x01\0\0\0' + struct.pack('<I', huge) + bytes(4),
        b'%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n',
        b'RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f' + noise, b'\xff\xd8\xff\xe0' + noise,
        b'\0\0\0\x0cjP  \r\n\x87\n' + noise, b'icns' + noise,
        b'8BPS\0\x01' + bytes(6) + struct.pack('>HIIHH', 3, huge, huge, 8, 3) + bytes(20),
        b'SIMPLE  =                    T' + b' ' * 50
        + b'BITPIX  =                    8'.ljust(80),
        b'#define x_width 9999\n#define x_height 9999\nstatic char x_bits[] = {\n0x00};',
        b'/* XPM */\nstatic char *x[] = {"9999 9999 2 1", "a c red"};',
        b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }\n"
        % (huge, huge)))))


NUMPY_HEADS = (
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }",
    b"{'descr': [('a', '<f8'), ('b', '<i4')], 'fortran_order': False, 'shape': (1, 1), }",
    b"{'descr': '<c16', 'fortran_order': True, 'shape': (2, 2), }",
    b"{'descr': '<f2', 'fortran_order': False, 'shape': (), }",
    b"{'descr': '<U9', 'fortran_order': False, 'shape': (2, 2), }",
    b"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2, 2), }",
    b"{'descr': '<f8', 'shape': (2, 2), }", b'[1, 2]', b'(' * 90, b"__import__('os').getpid()")


def change_numpy(draw: Draw, data: bytes, other: bytes) -> bytes:
    """An array of numpy with another head."""
    if data[:6] != b'\x93NUMPY':
        return other_picture(draw, data, other)
    head = draw(st.sampled_from(NUMPY_HEADS)).ljust(117) + b'\n'
    size = int.from_bytes(data[8:10], 'little')
    return data[:8] + len(head).to_bytes(2, 'little') + head + data[10 + size:]


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack('>I', len(content)) + name + content + _crc(name + content)


def _crc(content: bytes) -> bytes:
    return struct.pack('>I', zlib.crc32(content))


# ------------------------------------------------------------------------------------------ bags


def change_record(draw: Draw, data: bytes, other: bytes) -> bytes:
    """A record of an MCAP file left out, repeated, moved, damaged, or of another length."""
    found = _records(data)
    if not found:
        return overwrite(draw, data, other)
    start, end = draw(st.sampled_from(found))
    at, _ = draw(st.sampled_from(found))
    record = data[start:end]
    length = draw(_LENGTHS).to_bytes(8, 'little')
    return bytes(draw(st.sampled_from((
        data[:start] + data[end:],
        data[:end] + record * _times(draw(_TIMES), len(record)) + data[end:],
        data[:at] + record + data[at:],
        data[:start + 1] + length + data[start + 9:],
        data[:start + 9] + overwrite(draw, record[9:], other) + data[end:]))))


@functools.lru_cache(maxsize=64)
def _records(data: bytes) -> tuple[tuple[int, int], ...]:
    """Beginning and end of each record."""
    found, at = [], 8
    while data[:5] == b'\x89MCAP' and at + 9 <= len(data) - 8:
        end = at + 9 + int.from_bytes(data[at + 1:at + 9], 'little')
        if end > len(data):
            break
        found.append((at, end))
        at = end
    return tuple(found)


_BYTES: tuple[Change, ...] = (overwrite, overwrite, overwrite, cut, cut, insert, insert, empty)
_TEXTS: tuple[Change, ...] = (insert, replace_token, replace_token, replace_token, change_lines,
                              nest, lengthen)
FORMS: dict[str, tuple[Change, ...]] = {
    'text': (*_TEXTS, *_TEXTS, *_BYTES),
    'pddl': (change_group,) * 10 + (*_TEXTS, *_BYTES),
    'json': (change_json,) * 15 + (*_TEXTS, *_BYTES),
    'lines': (change_json_line,) * 15 + (*_TEXTS, *_BYTES),
    'yaml': (change_yaml,) * 12 + (insert_yaml,) * 6 + (*_TEXTS, *_BYTES),
    'picture': (claim_png,) * 5 + (bomb_png, change_numpy) + (other_picture,) * 3 + _BYTES,
    'mcap': (change_record,) * 8 + _BYTES,
    'bytes': _BYTES,
}
"""Changes to inputs of a form; one that is listed more often is made more often."""
