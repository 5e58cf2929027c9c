"""What the system does, frozen: ``python tests/goldens/goldens.py check|freeze|list|show``.

``check`` runs parts again and prints what differs; ``freeze`` writes down what they do now;
``list`` names the parts; ``show PART CASE`` prints all questions, replies and events that the
digests of a case are of, to be compared with those of another commit. A check fails where an item
is missing, new, or has another value. A digest is [number of values, hash, sum of their
fractions]; fractions may differ by 1e-5 of their sum, as they do between processors.

All was frozen where numpy has the logarithms of AVX-512 and OpenBLAS its kernels, whose last
digits are others (on AMD's processors: with OPENBLAS_CORETYPE=SKYLAKEX set). A method with a
belief chooses by them among questions and states that are worth the same, so elsewhere its order
of questions and plans (``BY_LAST_DIGITS``) is not compared, all else is.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy._core._multiarray_umath import __cpu_features__

sys.path.insert(0, str(Path(__file__).parent))

import adapter
import parts

HERE = Path(__file__).parent
PARTS = (*parts.RUNS, *parts.COMMANDS)
FAST = ('tabletop', 'ivispar')
"""Two parts of a few seconds."""

BY_LAST_DIGITS = ('asked', 'beliefs', 'planned', 'plans', 'requests')
"""Fields of an item with beliefs that hang on the last digits of a logarithm."""
ONLY_THERE = ('arm', 'point_it_out')
"""Parts that can be compared on such a processor alone: what moves by a hair is drawn otherwise,
and votes for places tie but for their last digits."""
_FROZEN_KERNELS = {'skylakex', 'cooperlake', 'sapphirerapids'}
"""Kernels of OpenBLAS for AVX-512, which round alike."""
_WITH_FRACTIONS = 3
"""Number of values of a digest that holds fractions."""


def run_part(name: str, case: str = '', details: list[str] | None = None) -> adapter.Items:
    """All items of a part, or of one of its cases, by ``case: episode or sample``."""
    found: adapter.Items = {}
    with tempfile.TemporaryDirectory(prefix='goldens-') as scratch:
        for number, (key, what) in enumerate({
                **parts.RUNS.get(name, {}), **parts.COMMANDS.get(name, {})}.items()):
            if case and key != case:
                continue
            folder = Path(scratch) / str(number)
            folder.mkdir()
            try:
                items = (adapter.run_items(what, folder, details) if isinstance(what, dict)
                         else adapter.command_items(what[0], folder, what[1], details))
            except Exception as error:
                items = {'all': {'failed': f'{type(error).__name__}: {error}'}}
            found |= {f'{key}: {one}': item for one, item in items.items()}
    return found


def frozen(name: str) -> adapter.Items:
    """What was frozen of a part."""
    found: adapter.Items = json.loads((HERE / f'{name}.json').read_text())
    return found


def freeze(name: str, items: adapter.Items) -> None:
    """Write down a part, an item a line."""
    lines = ',\n'.join(f'{json.dumps(key)}: {json.dumps(item, separators=(",", ":"))}'
                       for key, item in items.items())
    (HERE / f'{name}.json').write_text(f'{{\n{lines}\n}}\n')


def differences(was: adapter.Items, now: adapter.Items) -> list[str]:
    """What differs, a line for each field."""
    lines = [f'{key}: is missing' for key in was if key not in now]
    lines += [f'{key}: is new' for key in now if key not in was]
    for key in was:
        if key in now:
            old, new = dict(adapter.flat(was[key])), dict(adapter.flat(now[key]))
            lines += [f'{key}: {field}: was {old.get(field)}, is {new.get(field)}'
                      for field in dict.fromkeys((*old, *new))
                      if not same(old.get(field), new.get(field))]
    return lines


def same(was: Any, now: Any) -> bool:
    """Whether two values are equal but for what another processor rounds otherwise."""
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(same, was, now))
    if isinstance(was, float) and isinstance(now, (int, float)):
        return math.isclose(was, now, rel_tol=1e-5, abs_tol=1e-9)
    return bool(was == now)


def check(name: str) -> list[str]:
    """What a part does otherwise than when it was frozen."""
    was, now = frozen(name), json.loads(json.dumps(run_part(name)))
    if not has_frozen_digits():
        was, now = without_last_digits(was), without_last_digits(now)
    return differences(was, now)


def has_frozen_digits() -> bool:
    """Whether numpy rounds logarithms and sums here as it did where the parts were frozen."""
    return bool(__cpu_features__.get('AVX512_SKX')) and blas_kernels() <= _FROZEN_KERNELS


def blas_kernels() -> set[str]:
    """Names of the kernels that the OpenBLAS libraries of this process have chosen."""
    found = set()
    for path in {line.split()[-1] for line in Path('/proc/self/maps').read_text().splitlines()
                 if 'scipy_openblas64' in line}:
        corename = ctypes.CDLL(path).scipy_openblas_get_corename64_
        corename.restype = ctypes.c_char_p
        found.add(corename().decode().lower())
    return found


def without_last_digits(items: adapter.Items) -> adapter.Items:
    """The items without what hangs on the last digits of a logarithm."""
    return {key: {field: value for field, value in item.items() if field not in BY_LAST_DIGITS}
            if len(item.get('beliefs') or ()) == _WITH_FRACTIONS else item
            for key, item in items.items()}


def main(words: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('verb', choices=('check', 'freeze', 'list', 'show'))
    parser.add_argument('part', nargs='*', help=f'all without; of {", ".join(PARTS)}')
    arguments = parser.parse_args(words)
    if arguments.verb == 'list':
        for name in PARTS:
            print(f'{name:22} {len(frozen(name)):4} items')
        return 0
    if arguments.verb == 'show':
        details: list[str] = []
        name, case = arguments.part
        print(json.dumps(run_part(name, case, details), indent=1))
        print('\n'.join(details))
        return 0
    if unknown := set(arguments.part) - set(PARTS):
        parser.error(f'no such part: {", ".join(sorted(unknown))}')
    differing = 0
    for name in arguments.part or PARTS:
        started = time.monotonic()
        if arguments.verb == 'freeze':
            items = run_part(name)
            failed = [f'{key}: {item["failed"]}' for key, item in items.items()
                      if 'failed' in item]
            differing += len(failed)
            freeze(name, items)
            said = [f'{len(items)} items frozen', *failed]
        else:
            lines = check(name)
            differing += len(lines)
            said = [f'{len(frozen(name))} items, {len(lines)} differences', *lines]
        print(f'{name}: ' + '\n  '.join([f'{said[0]}, {time.monotonic() - started:.0f} s',
                                         *said[1:]]), flush=True)
    return 1 if differing else 0


if __name__ == '__main__':
    sys.exit(main())
