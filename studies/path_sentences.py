"""How well sentences about paths are understood: by the reader, by simulated models, by a model.

Reads sentences with what they want (``studies/data/patheval/people/README.md`` says whose they
are, and explains the format), and the texts of PathEval's fifteen tasks:

    python studies/path_sentences.py studies/data/patheval/people/tune.jsonl --each
    python studies/path_sentences.py --backend openai --backend-option base_url=... model=...

A sentence is *rightly understood* if every wish is read with its sign, nothing is read that it
neither wants nor allows, and limits, places, sides and the trade-off are equal; or, if it says
nothing useful, if it is refused.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics.intervals import wilson
from sightplan.model import InputError
from sightplan.vlm.api import make_checked_backend
from sightplan_suites.paths.labels import ORDER
from sightplan_suites.paths.limits import TIMES_LEAST, Limit, TradeOff
from sightplan_suites.paths.scenarios import ABSTRACT, SPELLED, Scenario, load_scenarios
from sightplan_suites.paths.sentences import (
    Reading,
    UnreadSentenceError,
    name_words,
    read_sentence,
)
from sightplan_suites.paths.wishes import WishSettings, understand
from wish_scores import noisy_asker

DATA = Path(__file__).parent / 'data' / 'patheval' / 'people'
RIGHT, WRONG, REFUSED = 'rightly understood', 'wrongly understood', 'refused'
NAMES = {'minimum_clearance': 'min_clearance', 'average_clearance': 'avg_clearance',
         'maximum_clearance': 'max_clearance', 'path_length': 'length',
         'smoothness': 'smoothness', 'sharp_turns': 'sharp_turns', 'maximum_angle': 'max_angle'}
"""Names of the descriptors in the annotations."""
ERRORS = (0.05, 0.1, 0.2)
"""Error rates of simulated models, each of both kinds."""
SEEDS = 5
_PLACE_WORDS = {'over', 'past', 'with', 'of', 'in', 'at', 'across', 'own'}


def empty(record: Mapping[str, Any]) -> bool:
    """Whether a sentence says nothing useful."""
    return not (record['wants'] or record['optional'] or record['limits'] or record['except'])


def wish_differences(record: Mapping[str, Any], wants: Mapping[str, int]) -> list[str]:
    """How wishes by descriptor differ from an annotation; empty if they do not."""
    found = {NAMES[name]: sign for name, sign in wants.items() if sign}
    allowed = {**record['optional'], **record['wants']}
    return [f'{name} {sign:+d} is not read' for name, sign in record['wants'].items()
            if found.get(name) != sign] + [
        f'{name} {sign:+d} is read' for name, sign in found.items() if allowed.get(name) != sign]


def differences(record: Mapping[str, Any], reading: Reading) -> list[str]:
    """How a reading differs from an annotation; empty if it does not."""
    limits, found = reading.limits, wish_differences(record, reading.wants)
    wanted = {_bound(one['measure'], '>=' if 'at_least' in one else '<=',
                     one.get('at_least', one.get('at_most')))
              for one in record['limits'] if 'measure' in one}
    read = {_limit_bound(limit) for limit in limits.limits}
    if wanted != read:
        found.append(f'limits are {sorted(read)}, not {sorted(wanted)}')
    found += _place_differences([one['keep_out'] for one in record['limits']
                                 if 'keep_out' in one], limits.keep_out)
    side = next((one['keep_side'] for one in record['limits'] if 'keep_side' in one), '')
    if side != limits.keep_side:
        found.append(f'side is {limits.keep_side!r}, not {side!r}')
    return found + _trade_differences(record['except'], limits.trade_offs)


def _bound(measure: str, relation: str, value: float) -> tuple[str, str, float]:
    """A limit in one form: no turn above 90 degrees is no sharp turn."""
    if (measure, relation, value) == ('sharp_turns', '<=', 0):
        measure, value = 'max_angle', 90.0
    return measure, relation, round(float(value), 2)


def _limit_bound(limit: Limit) -> tuple[str, str, float]:
    suffix = ' of the shortest' if limit.reference == TIMES_LEAST else ''
    return _bound(NAMES[limit.name] + suffix, limit.relation, limit.value)


def _place_differences(wanted: Sequence[str], found: Sequence[str]) -> list[str]:
    left, wrong = list(found), []
    for place in wanted:
        said = name_words(place) - _PLACE_WORDS
        fits = [one for one in left if (words := name_words(one) - _PLACE_WORDS)
                and (words <= said or said <= words)]
        if fits:
            left.remove(fits[0])
        else:
            wrong.append(f'{place!r} is not kept out of')
    return wrong + [f'{place!r} is kept out of' for place in left]


def _trade_differences(wanted: Mapping[str, Any] | None, found: Sequence[TradeOff]) -> list[str]:
    if wanted is None or not found:
        return [] if wanted is None and not found else [
            f'trade-offs are {[one.text for one in found]}, not {wanted}']
    if wanted['more_than'] is None:
        return []
    value = {'m': (wanted['more_than'], False), 'percent': (wanted['more_than'] / 100, True),
             'times': (wanted['more_than'] - 1, True)}.get(wanted['unit'])
    read = found[0].most, found[0].relative
    same = value is not None and value[1] == read[1] and abs(value[0] - read[0]) < 1e-3
    return [] if same else [f'the trade-off is {found[0].text}, not {wanted}']


def judged(record: Mapping[str, Any]) -> tuple[str, str]:
    """How the reader understands a sentence, and why, or what is wrong."""
    try:
        reading = read_sentence(record['text'])
    except UnreadSentenceError as error:
        return (RIGHT if empty(record) else REFUSED), str(error)
    wrong = differences(record, reading)
    return (WRONG if wrong else RIGHT), '; '.join(wrong)


def rate(count: int, n: int) -> str:
    """A rate with its 95 % interval."""
    low, high = wilson(count, n)
    return f'{count} of {n}, {count / n:.3f} ({low:.3f} to {high:.3f})'


def report_reader(records: Sequence[Mapping[str, Any]], each: bool) -> None:
    """Print how the reader understands sentences, by hand."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        said, why = judged(record)
        counts.setdefault(record['id'].split('-')[0], Counter())[said] += 1
        if said == WRONG or (each and said == REFUSED):
            print(f'  {said}: {record["id"]}: {record["text"]}\n    {why}')
    for hand in (*sorted(counts), 'all'):
        one = sum(counts.values(), Counter()) if hand == 'all' else counts[hand]
        n = sum(one.values())
        print(f'{hand}: ' + '; '.join(
            f'{name} {rate(one[name], n)}' for name in (RIGHT, WRONG, REFUSED)))


def report_wishes(records: Sequence[Mapping[str, Any]], name: str,
                  ask: Callable[[Scenario, str, str], Mapping[str, int]], seeds: int = 1) -> None:
    """Print how a model understands the wishes of sentences; limits are not asked about."""
    right = 0
    for seed in range(seeds):
        for record in records:
            signs = {name: record['wants'].get(NAMES[name], 0) for name in ORDER}
            task = Scenario(0, '', tuple(signs.values()), record['text'], ())
            wants = ask(task, record['text'], f'{record["id"]}/{seed}')
            right += not wish_differences(record, wants)
    print(f'{name}: all wishes right {rate(right, seeds * len(records))}')


def _simulated(error: float) -> Callable[[Scenario, str, str], Mapping[str, int]]:
    ask = noisy_asker(error, error, together=0.3)
    return lambda task, text, name: dict(zip(ORDER, ask(task, text, name).vector, strict=True))


def _asked(backend: str, options: Mapping[str, str],
           ) -> Callable[[Scenario, str, str], Mapping[str, int]]:
    model = make_checked_backend(backend, dict(options))
    return lambda task, text, name: dict(zip(
        ORDER, understand(model, text, WishSettings()).vector, strict=True))


def report_tasks() -> None:
    """Print how the reader understands the texts of PathEval's tasks, spelled and abstract."""
    for form in (SPELLED, ABSTRACT):
        counts: Counter[str] = Counter()
        for task in load_scenarios():
            for text in task.wordings(form):
                counts[_task_judged(task, text)] += 1
        n = sum(counts.values())
        print(f'tasks, {form}: ' + '; '.join(f'{name} {rate(counts[name], n)}' for name in (
            'right', 'partly', 'turned', 'refused')))


def _task_judged(task: Scenario, text: str) -> str:
    """``right``: all seven signs; ``turned``: a sign is read for its opposite; else ``partly``."""
    try:
        found = read_sentence(text).vector
    except InputError:
        return 'refused'
    if any(one * other == -1 for one, other in zip(found, task.vector, strict=True)):
        return 'turned'
    return 'right' if found == task.vector else 'partly'


def main() -> None:
    """Print how well sentences are understood."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('files', nargs='*', type=Path)
    parser.add_argument('--each', action='store_true', help='print each refused sentence')
    parser.add_argument('--backend', default='', help='a model that is asked for the wishes, too')
    parser.add_argument('--backend-option', nargs='*', default=(), metavar='KEY=VALUE')
    arguments = parser.parse_args()
    for path in arguments.files or sorted(DATA.glob('t*.jsonl')):
        records = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        print(f'{path.name}: {len(records)} sentences')
        report_reader(records, arguments.each)
        for error in ERRORS:
            report_wishes(records, f'simulated model, errors {error:g}', _simulated(error), SEEDS)
        if arguments.backend:
            options = dict(one.split('=', 1) for one in arguments.backend_option)
            report_wishes(records, arguments.backend, _asked(arguments.backend, options))
    report_tasks()


if __name__ == '__main__':
    main()
