"""Spoiling good input: bytes, texts, and trees of JSON and YAML; the same seed does the same."""

from __future__ import annotations

import copy
import functools
import json
import math
import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import yaml

from sightplan.model.yaml_text import load_yaml

Change = Callable[[random.Random, bytes, bytes], bytes]
"""Spoils an input; may take parts of another one."""

MOST_BYTES = 4 << 20
"""Largest size of an input [bytes]; a change makes it at most a few times as large."""
_KEPT_BYTES = 1 << 16
"""Size up to which parsed inputs are cached: good ones, which are spoilt again and again."""

DEEP = 100_000
_NUMBERS = (b'1e999', b'-1e999', b'NaN', b'nan', b'Infinity', b'-inf', b'9' * 400, b'9' * 5000,
            b'-1', b'0', b'0x7fffffffffffffff', b'18446744073709551616', b'1e-320', b'1_000',
            b'--5', b'1.2.3', '٣'.encode(), b'1e308', b'0.1' + b'0' * 3000)
_ODD = (b'\0', b'\xef\xbb\xbf', b'\xff\xfe', '\u202e'.encode(), '\u2028'.encode(), b'\xed\xa0\x80',
        b'\xc0\x80', b'\x1b[31m', b'\r', b'\x85', '\u200b'.encode(), 'e\u0301'.encode(),
        '😀'.encode(), b'\x7f', b'\x08', '\ufffe'.encode(), b'%s%n', b'../../../etc/passwd',
        b'{0.__class__}', b'$(reboot)', '\u0130\u017f\u1e9e'.encode())
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 10**400, 1e308, 5e-324, math.nan, math.inf,
    -math.inf, -0.0, '', ' ', '0', 'x' * 100_000, '\0', '\ud800', '\u202eabc', '../..', '/',
    '~nobody/x', '\n', [], {}, [[]], [None], [[[[1]]]], {'': None}, {'a': {'a': {}}}, '1e5',
    'null', 'NaN', 0.5, 1e-9, 10**18, [0] * 5000, ['x'] * 2000, {str(i): i for i in range(2000)})
_PART = re.compile(rb'[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_WORD = re.compile(rb'[A-Za-z_][A-Za-z_0-9]*')


# ----------------------------------------------------------------------------------------- bytes


def _place(rng: random.Random, size: int) -> tuple[int, int]:
    """Beginning and end of a piece, mostly a small one."""
    start = rng.randint(0, size)
    return start, min(size, start + int(size ** rng.random()))


def flip(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Other values of up to eight bytes."""
    spoilt = bytearray(data)
    for _ in range(rng.randint(1, 8) if spoilt else 0):
        spoilt[rng.randrange(len(spoilt))] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
    return bytes(spoilt)


def cut(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Keep only the beginning or the end."""
    at = rng.randint(0, len(data))
    return data[:at] if rng.random() < 0.8 else data[at:]


def drop(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Remove a piece."""
    start, end = _place(rng, len(data))
    return data[:start] + data[end:]


def double(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A piece again and again."""
    start, end = _place(rng, len(data))
    times = rng.choice((2, 2, 3, 10, 1000, 100_000))
    piece = data[start:end] * _times(times, 4 * (end - start))
    return data[:start] + piece + data[end:]


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The beginning of one, the end of another."""
    return data[:rng.randint(0, len(data))] + other[rng.randint(0, len(other)):]


def garbage(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Random bytes in the place of a piece."""
    start, end = _place(rng, len(data))
    return data[:start] + rng.randbytes(rng.choice((1, 8, 64, 1024))) + data[end:]


def lie(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Numbers of four or eight bytes, as lengths are, that are other than they were."""
    spoilt = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        width = rng.choice((2, 4, 8))
        at = rng.randint(0, max(0, len(data) - width))
        value = rng.choice((0, 1, 2**(8 * width) - 1, 2**(8 * width - 1) - 1,
                            2**(8 * width - 1), len(data) % 2**(8 * width), 2**(4 * width),
                            2**(8 * width) - 8))
        spoilt[at:at + width] = (value.to_bytes(width, 'little') if rng.random() < 0.5 else
                                 value.to_bytes(width, 'big'))
    return bytes(spoilt)


def _times(wanted: int, size: int) -> int:
    """Number of repeats that keeps an input within the limit of size."""
    return min(wanted, 1 + MOST_BYTES // max(1, size))


P = ParamSpec('P')
T = TypeVar('T')


def _kept(most: int) -> Callable[[Callable[Concatenate[bytes, P], T]],
                                 Callable[Concatenate[bytes, P], T]]:
    """Cache a function's results for the last inputs, except large ones."""
    def keeping(find: Callable[Concatenate[bytes, P], T]) -> Callable[Concatenate[bytes, P], T]:
        cached: Any = functools.lru_cache(maxsize=most)(find)

        def found(data: bytes, /, *args: P.args, **more: P.kwargs) -> T:
            return (find if len(data) > _KEPT_BYTES else cached)(data, *args, **more)
        return found
    return keeping


def empty(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Replace the input by nothing, or by bytes without content."""
    return rng.choice((b'', b'', b'\0', b' ', b'\n', b'\0' * 10_000, b'\n' * 10_000))


BYTES: tuple[Change, ...] = (flip, flip, cut, drop, double, splice, garbage, lie, lie, empty)


# ----------------------------------------------------------------------------------------- texts


def odd(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Characters that are not seen, not whole, or turn the line around."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        data = data[:at] + rng.choice(_ODD) + data[at:]
    return data


def number(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A number that is none, or too large, in the place of one or of all."""
    found = list(_PART.finditer(data))
    if not found:
        return odd(rng, data, other)
    new = rng.choice(_NUMBERS)
    if rng.random() < 0.1:
        return _PART.sub(lambda match: new, data, MOST_BYTES // len(new))
    match = rng.choice(found)
    return data[:match.start()] + new + data[match.end():]


def word(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A word in the place of another, from the same text, from another one, or a number."""
    found = list(_WORD.finditer(data))
    if not found:
        return odd(rng, data, other)
    match = rng.choice(found)
    others = [one.group() for one in _WORD.finditer(other)] or [b'x']
    new = rng.choice((rng.choice(found).group(), rng.choice(others), rng.choice(_NUMBERS), b'',
                      match.group().upper(), b'"' + match.group() + b'"', match.group() * 2,
                      b'x' * 100_000))
    return data[:match.start()] + new + data[match.end():]


def lines(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Lines left out, doubled, in another order, with another indentation or other ends."""
    parts = data.split(b'\n')
    at = rng.randrange(len(parts))
    what = rng.randrange(7)
    if what == 0:
        del parts[at]
    elif what == 1:
        parts[at:at] = [parts[at]] * _times(rng.choice((1, 10, 1000)), len(parts[at]))
    elif what == 2:
        rng.shuffle(parts)
    elif what == 3:
        parts[at] = rng.choice((b' ', b'  ', b'\t', b'- ')) + parts[at]
    elif what == 4:
        parts[at] = parts[at].strip()
    else:
        return rng.choice((b'\r\n', b'\r', b' ', b'\n\n', b'\x0b', '\u2028'.encode())).join(parts)
    return b'\n'.join(parts)


def deep(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Brackets in brackets, closed or not."""
    opening, closing = rng.choice(((b'(', b')'), (b'[', b']'), (b'{"a":', b'}'), (b'{a: ', b'}'),
                                   (b'- ', b''), (b'<a>', b'</a>'), (b'(and ', b')'),
                                   (b'(not ', b')'), (b'[{"action":', b'}]'), (b'!!seq [', b']'),
                                   (b'"', b'"'), (b'\\', b''), (b'<think>', b'</think>')))
    count = rng.choice((20, 60, 500, 2000, DEEP))
    inside = data[:1000] if rng.random() < 0.5 else b'1'
    nested = opening * count + inside + closing * rng.choice((count, count, 0, count - 1))
    at = rng.randint(0, len(data))
    return nested if rng.random() < 0.5 else data[:at] + nested + data[at:]


def long_line(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A very long line or word."""
    at = rng.randint(0, len(data))
    unit = rng.choice((b'a', b' ', b'x ', b'1', b'1,', b'[', b'"', b'yes ', b'=', b'-', b'\t',
                       b'move ', b'<', b'a.', b',', b'(', b'\n ', b'0.5 ',
                       data[at:at + 20] or b'y'))
    return data[:at] + unit * (rng.choice((1000, 100_000, 1_000_000)) // len(unit)) + data[at:]


TEXTS: tuple[Change, ...] = (odd, odd, number, number, word, word, lines, lines, deep, long_line)


# ----------------------------------------------------------------------------------------- trees


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values of a tree."""
    found = [path]
    items = (tree.items() if isinstance(tree, dict) else
             enumerate(tree) if isinstance(tree, list) else ())
    for key, value in items:
        found += _paths(value, (*path, key))
    return found


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda value, key: value[key], path, tree)


def _changed(rng: random.Random, tree: Any, other: Any, values: tuple[Any, ...]) -> Any:
    """A tree with one value, key or list other than it was; a tree of its own."""
    tree = copy.deepcopy(tree)
    path = rng.choice(_paths(tree))
    if not path:
        return rng.choice((rng.choice(values), [tree], {'a': tree}, other))
    *above, key = path
    holder = _at(tree, tuple(above))
    value = holder[key]
    what = rng.randrange(12)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, dict):
        del holder[key]
        holder[rng.choice((f'{key}x', str(key).upper(), '', 'x' * 10_000, '\0', '\ud800',
                           rng.choice(list(holder) or ['a'])))] = value
    elif what == 2:
        holder[key] = [value]
    elif what == 3:
        holder[key] = {'a': value}
    elif what == 4:
        holder[key] = str(value)
    elif what == 5:
        holder[key] = copy.deepcopy(_at(tree, rng.choice(_paths(tree))))
    elif what == 6 and isinstance(holder, list):
        holder[key:key] = [value] * _times(rng.choice((1, 2, 100, 3000)), len(repr(value)))
    elif what == 7 and isinstance(holder, dict):
        holder[rng.choice(('extra', key + 'x' if isinstance(key, str) else 'y'))] = value
    elif what == 8 and isinstance(value, (int, float)) and not isinstance(value, bool):
        holder[key] = rng.choice((-value, value * 1e6, value + 0.5, value * 1e300, float(value)))
    elif what == 9 and isinstance(value, str):
        holder[key] = rng.choice((value + ' ', value.upper(), value[::-1],
                                  value * _times(1000, len(value)),
                                  f'"{value}', value.encode(
                                      'utf-8', 'replace').decode('utf-16', 'replace')))
    else:
        holder[key] = rng.choice(values)
    return tree


def _bomb(depth: int = 12, width: int = 10) -> Any:
    """Lists that hold each other again and again: aliases of YAML, small as a text."""
    tree: Any = ['lol'] * width
    for _ in range(depth):
        tree = [tree] * width
    return tree


def _json(tree: Any, rng: random.Random) -> bytes:
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5,
                      indent=rng.choice((None, None, 1)))
    return text.encode('utf-8', 'surrogatepass')


_Dumper = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


@_kept(256)
def _tree(data: bytes, form: str) -> Any:
    """The content of a good input; None where it has none."""
    try:
        if form == 'json':
            return json.loads(data)
        return load_yaml(data)
    except (ValueError, RecursionError, yaml.YAMLError):
        return None


def json_tree(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Change some values of a JSON text."""
    tree, second = _tree(data, 'json'), _tree(other, 'json')
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tree = _changed(rng, tree, second, _VALUES)
    return _json(tree, rng)


def json_line(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Change some values of one line, or remove or double lines."""
    parts = [line for line in data.split(b'\n') if line.strip()]
    if not parts:
        return json_tree(rng, data, other)
    at = rng.randrange(len(parts))
    if rng.random() < 0.15:
        parts[at:at + 1] = rng.choice(([], [parts[at]] * 2, [parts[at][:len(parts[at]) // 2]]))
    else:
        parts[at] = json_tree(rng, parts[at], rng.choice(parts)).replace(b'\n', b' ')
    return b'\n'.join(parts) + rng.choice((b'\n', b'\n', b''))


def yaml_tree(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Change some values of a YAML text; bombs of aliases are among the changes."""
    tree, second = _tree(data, 'yaml'), _tree(other, 'yaml')
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        tree = _changed(rng, tree, second, _VALUES)
    if rng.random() < 0.05:
        tree = _changed(rng, tree, second, (_bomb(), _bomb(4, 3), _bomb(40, 2)))
    try:
        return bytes(yaml.dump(tree, Dumper=_Dumper, allow_unicode=rng.random() < 0.5,
                               encoding='utf-8', default_flow_style=rng.choice((None, False))))
    except (UnicodeError, yaml.YAMLError):
        return odd(rng, data, other)


_YAML = (b'&a [*a]', b'&a {b: *a}', b'2026-99-99', b'2026-01-01', b'12:30:45', b'0o99', b'0b2',
         b'!!python/object/apply:os.system [id]', b'!!binary "%%%"', b'!!set {a, b}',
         b'!!omap [a]', b'!!timestamp x', b'!!int x', b'!!float "."', b'? [a, b]\n: c',
         b'<<: [*a]', b'<<: 1',
         b'*b', b'!<tag:x> y', b'%YAML 9.9', b'---\na: 1\n---\nb: 2', b'{a: 1, a: 2}', b'[a, b',
         b'"\\ud800"',
         b'"\\U00110000"', b'on', b'.inf', b'-.nan', b'~', b'|\n  text', b'>9\n x', b'=', b'0x',
         b'1__0', b'190:20:30', b'!!float 1:90', b'0x' + b'f' * 400, b'1' * 5000, b'{[1]: 2}',
         b'{{a: 1}: 2}', b'!!str', b'? ')
"""Unusual values of YAML."""


def yaml_value(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A value of YAML's own in the place of one of a line, or before all."""
    parts = data.split(b'\n')
    value = rng.choice(_YAML)
    at = rng.randrange(len(parts))
    head, colon, _ = parts[at].partition(b': ')
    parts[at] = head + colon + value if colon else value if rng.random() < 0.3 else (
        parts[at] + value)
    return b'\n'.join(parts) if rng.random() < 0.95 else value


# --------------------------------------------------------------------------------------- PDDL


def pddl_group(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A group in parentheses left out, doubled, wrapped, or in the place of another."""
    groups = _groups(data)
    if not groups:
        return deep(rng, data, other)
    start, end = rng.choice(groups)
    group = data[start:end]
    there = _groups(other)
    a, b = rng.choice(there) if there else (0, 0)
    new = rng.choice((b'', group * 2, group * _times(1000, len(group)), b'(not ' + group + b')',
                      b'(and ' + group + b')', b'(forall (?x - object) ' + group + b')',
                      b'(when ' + group * 2 + b')',
                      b'(or ' + group * 3 + b')', b'(' + group + b')', other[a:b], group[1:-1],
                      b'(= ?x ?x)', b'()', b'(increase (total-cost) 1)', b'(:derived (p) (p))',
                      _many_objects(rng)))
    return (data[:start] + new + data[end:])[:MOST_BYTES]


def _many_objects(rng: random.Random) -> bytes:
    names = ' '.join(f'o{number}' for number in range(rng.choice((10, 300, 20_000))))
    return f'(:objects {names} - {rng.choice(("block", "object", "movable", "piece"))})'.encode()


@_kept(256)
def _groups(data: bytes) -> tuple[tuple[int, int], ...]:
    """Beginning and end of each group."""
    found, opened = [], []
    for at, value in enumerate(data):
        if value == 40:
            opened.append(at)
        elif value == 41 and opened:
            found.append((opened.pop(), at + 1))
    return tuple(found)


# ------------------------------------------------------------------------------------- pictures


def png_claim(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A PNG that claims another size, depth or kind of pixels, with a right checksum."""
    if data[:8] != b'\x89PNG\r\n\x1a\n':
        return lie(rng, data, other)
    width, height, *rest = struct.unpack('>IIBBBBB', data[16:29])
    sizes = (0, 1, 7, 2000, 20_000, 65_535, 2**31 - 1, 2**32 - 1)
    head = struct.pack('>IIBBBBB', rng.choice((width, *sizes)), rng.choice((height, *sizes)),
                       *(value if rng.random() < 0.8 else rng.choice((0, 1, 2, 3, 4, 6, 8, 16, 99))
                         for value in rest))
    return data[:16] + head + _crc(b'IHDR' + head) + data[33:]


def png_bomb(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A small PNG that unpacks to a very large picture, or a text of it that does."""
    side = rng.choice((3000, 9000, 20_000, 30_000))
    head = struct.pack('>IIBBBBB', side, side, rng.choice((1, 8)), 0, 0, 0, 0)
    content = zlib.compress(bytes(min(side * side, 8 << 20)), 1)
    if rng.random() < 0.3:
        text = b'a\0\0' + zlib.compress(bytes(16 << 20), 9)
        return data[:33] + _chunk(b'zTXt', text) + data[33:]
    return b'\x89PNG\r\n\x1a\n' + _chunk(b'IHDR', head) + _chunk(b'IDAT', content) + _chunk(
        b'IEND', b'')


def other_picture(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Pictures of other kinds, most of them damaged or dangerous."""
    huge = rng.choice((4, 60_000, 2**31 - 1))
    return rng.choice((
        b'P6\n%d %d\n255\n' % (huge, huge), b'P5\n2 2\n65535\n' + bytes(8),
        b'P4\n9 9\n' + bytes(18), b'P5 3 3 255\n' + bytes(9), b'P2\n2 2\n255\n1 2 3 x',
        b'Pf\n1 1\n-1.0\n' + bytes(4),
        b'BM' + struct.pack('<IHHIIiiHHIIiiII', 58, 0, 0, 54, 40, huge, huge, 1, 24, 0, 4, 0, 0, 0,
                            0),
        b'GIF89a' + struct.pack('<HHBBB', huge & 65535, huge & 65535, 0x80, 0, 0) + bytes(6)
        + b',' + struct.pack('<HHHHB', 0, 0, huge & 65535, huge & 65535, 0)
        + b'\x02\x02\x44\x01\0;',
        b'II*\0\x08\0\0\0\x01\0\0\x01\x04\0\x01\0\0\0' + struct.pack('<I', huge) + bytes(4),
        b'%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n',
        b'RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f' + rng.randbytes(24),
        b'\0\0\0\x0cjP  \r\n\x87\n' + rng.randbytes(60), b'icns' + rng.randbytes(60),
        b'8BPS\0\x01' + bytes(6) + struct.pack('>HIIHH', 3, huge, huge, 8, 3) + bytes(20),
        b'SIMPLE  =                    T' + b' ' * 50
        + b'BITPIX  =                    8'.ljust(80),
        b'#define x_width 9999\n#define x_height 9999\nstatic char x_bits[] = {\n0x00};',
        b'/* XPM */\nstatic char *x[] = {"9999 9999 2 1", "a c red"};',
        b'\xff\xd8\xff\xe0' + bytes(20),
        b'\x93NUMPY\x01\0v\0'
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (huge, huge)
        + b' ' * 50 + b'\n'))


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


def numpy_head(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """An array of numpy with another head."""
    if data[:6] != b'\x93NUMPY':
        return other_picture(rng, data, other)
    head = rng.choice(NUMPY_HEADS).ljust(117) + b'\n'
    size = int.from_bytes(data[8:10], 'little')
    return data[:8] + len(head).to_bytes(2, 'little') + head + data[10 + size:]


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack('>I', len(content)) + name + content + _crc(name + content)


def _crc(content: bytes) -> bytes:
    return struct.pack('>I', zlib.crc32(content))


# ------------------------------------------------------------------------------- records of MCAP


def mcap_record(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A record of an MCAP file left out, doubled, moved, or with a length that is not so."""
    found = _records(data)
    if not found:
        return lie(rng, data, other)
    start, end = rng.choice(found)
    record = data[start:end]
    what = rng.randrange(5)
    if what == 0:
        return data[:start] + data[end:]
    if what == 1:
        return data[:end] + record * _times(rng.choice((1, 1000)), len(record)) + data[end:]
    if what == 2:
        at, _ = rng.choice(found)
        return data[:at] + record + data[at:]
    if what == 3:
        length = rng.choice((0, 1, len(record) * 2, 2**31, 2**40, 2**63, 2**64 - 1))
        return data[:start + 1] + length.to_bytes(8, 'little') + data[start + 9:]
    return data[:start + 9] + lie(rng, record[9:], other) + data[end:]


@_kept(64)
def _records(data: bytes) -> tuple[tuple[int, int], ...]:
    found, at = [], 8
    while data[:5] == b'\x89MCAP' and at + 9 <= len(data) - 8:
        end = at + 9 + int.from_bytes(data[at + 1:at + 9], 'little')
        if end > len(data):
            break
        found.append((at, end))
        at = end
    return tuple(found)


FORMS: dict[str, tuple[Change, ...]] = {
    'text': (*TEXTS, *TEXTS, *BYTES),
    'pddl': (pddl_group,) * 12 + (*TEXTS, *BYTES),
    'json': (json_tree,) * 20 + (*TEXTS, *BYTES),
    'lines': (json_line,) * 20 + (*TEXTS, *BYTES),
    'yaml': (yaml_tree,) * 15 + (yaml_value,) * 8 + (*TEXTS, *BYTES),
    'picture': ((png_claim,) * 5 + (png_bomb, numpy_head, numpy_head) + (other_picture,) * 3
                + BYTES),
    'mcap': (mcap_record,) * 8 + BYTES,
    'bytes': BYTES,
}
"""Changes of inputs by form; more frequent entries are applied more often."""


def spoil(rng: random.Random, form: str, data: bytes, other: bytes) -> bytes:
    """Spoil a good input once, or sometimes several times.

    Args:
        rng: decides.
        form: of it, a key of ``FORMS``.
        data: the input.
        other: another one of the same reader.
    """
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        try:
            data = rng.choice(FORMS[form])(rng, data, other)[:MOST_BYTES]
        except (RecursionError, ArithmeticError, ValueError, MemoryError):
            data = flip(rng, data, other)  # it is too deep or too large already for that
    return data
