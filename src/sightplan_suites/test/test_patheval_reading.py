"""Replies about paths, read strictly and leniently; what they are worth."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from sightplan.metrics.measures import aggregates
from sightplan.model.sample import Choice, Sample, SampleReply
from sightplan.queries.choose import ChoiceReply
from sightplan.runs.suite_parts import Unread
from sightplan_suites.patheval import reading, report, scoring
from sightplan_suites.paths.descriptors import KEYS, NAMES

PLAIN_NAMES = ('Path 1', 'Path 2')
NEUTRAL = ('Xu2q', 'fP48')


def sample(asks: str = 'choice', options: tuple[str, str] = PLAIN_NAMES, **details: Any) -> Sample:
    count = {'choice': 1, 'perception': 7, 'needed': 0}[asks]
    return Sample('a', 'test', 'map', ('text',), details={'asks': asks, **details},
                  choices=(Choice(options),) * count)


def both(text: str, options: tuple[str, str] = PLAIN_NAMES) -> tuple[int | None, int | None]:
    try:
        found = reading.read(text, sample(options=options))
    except Unread:
        return None, None
    return found['strict'], found['lenient']


@pytest.mark.parametrize(('text', 'strict', 'lenient'), [
    ('Answer: Path 1\nExplanation: it is Path 2 that turns.', 0, 0),
    ('Answer: **Path 2.**\nExplanation: so.', 1, 1),
    ('Path 2', 1, 1), ('Path1', 0, 0), (' Path\n2 . ', 1, 1),
    ('Answer: path 1', None, 0), ('Answer: The better one is Path 1', None, 0),
    ('answer: Path 1', None, 0), ('Answer: Path 1, not Path 2', None, 0),
    ('Answer: Path 1 or Path 2', None, None), ('Answer: Path 12', None, None),
    ('Both are bad.', None, None), ('', None, None),
    ('Answer: Path 1\nExplanation: Answer: Path 2', 0, 1)])
def test_two_readings(text: str, strict: int | None, lenient: int | None) -> None:
    assert both(text) == (strict, lenient)


@pytest.mark.parametrize(('text', 'strict', 'lenient'), [
    ('Answer: Path fP48', 1, 1), ('Answer: fP48', 1, 1), ('Answer: It is Path Xu2q!', 0, 0),
    ('Answer: fP48, not Xu2q', 0, 1), ('Answer: xu2q', None, 0), ('Path 1', None, None),
    ('Answer: XXu2qX', 0, None)])
def test_of_random_names_the_first_counts(text: str, strict: int | None, lenient: int | None,
                                          ) -> None:
    assert both(text, NEUTRAL) == (strict, lenient)


def test_the_explanation_is_kept() -> None:
    found = reading.read('Answer: Path 1\n**Explanation:** fewer turns\nand shorter.', sample())
    assert found['explanation'].endswith('fewer turns\nand shorter.')
    assert reading.read('Path 1', sample())['explanation'] == ''


def test_seven_answers_in_one_reply() -> None:
    text = 'Answer:\n' + '\n'.join(f'{key}: Path {1 + number % 2}'
                                   for number, key in enumerate(KEYS)) + '\nExplanation: seen.'
    item = sample('perception')
    found = reading.read(text, item)
    assert list(found['strict'].values()) == [0, 1, 0, 1, 0, 1, 0] == list(
        found['lenient'].values())
    loose = ('- **minimum clearance**: path 1\nNumber of sharp turns: the second, Path 2\n'
             '* Path length: Path 2.')
    found = reading.read(loose, item)
    assert found['strict'] == dict.fromkeys(NAMES) | {'path_length': 1}
    assert {name: value for name, value in found['lenient'].items() if value is not None} == {
        'minimum_clearance': 0, 'sharp_turns': 1, 'path_length': 1}
    with pytest.raises(Unread):
        reading.read('Minimum clearance: equal', item)


@pytest.mark.parametrize(('text', 'strict', 'lenient'), [
    ('Answer: Path length; Smoothness', ['path_length', 'smoothness'],
     ['path_length', 'smoothness']),
    ('Answer: smoothness;path length.\nExplanation: Sharp turns', ['path_length', 'smoothness'],
     ['path_length', 'smoothness']),
    ('Answer: number of sharp turns, min. clearance', None, ['minimum_clearance', 'sharp_turns']),
    ('Answer: Path length; colour', None, ['path_length'])])
def test_lists_of_descriptors(text: str, strict: Any, lenient: Any) -> None:
    found = reading.read(text, sample('needed'))
    assert (found['strict'], found['lenient']) == (strict, lenient)


@pytest.mark.parametrize('asks', ['choice', 'perception', 'needed'])
@pytest.mark.parametrize('options', [PLAIN_NAMES, NEUTRAL])
def test_what_is_true_and_what_is_drawn_is_read(asks: str, options: tuple[str, str]) -> None:
    item = sample(asks, options)
    truth: Any = {'choice': {'better': 1}, 'needed': {'needed': ['path_length']}, 'perception': {
        'lower': dict.fromkeys(NAMES, 1) | {'sharp_turns': None}}}[asks]
    text = reading.write(truth, item)
    found = scoring.score(item, reading.read(text, item), truth, SampleReply(text))
    assert found.measures['solved'] == found.measures['solved_lenient'] == 1.0
    assert found.cause is None and found.measures['unread'] == 0.0
    rng = random.Random(0)
    drawn = [reading.guess(item, rng) for _ in range(20)]
    answers = [reading.read(text, item) for text in drawn]
    assert len(set(drawn)) > 1 and all(one['strict'] == one['lenient'] is not None
                                       for one in answers)


def test_what_is_chosen_becomes_the_answer() -> None:
    assert reading.compose(sample(), [ChoiceReply((0.2, 0.8), 1)]) == reading.read(
        'Answer: Path 2', sample())
    with pytest.raises(Unread, match='no valid answer'):
        reading.compose(sample(), [ChoiceReply(text='hm', unread='no')])
    replies = [ChoiceReply(None, number % 2) for number in range(7)]
    replies[2] = ChoiceReply(unread='no')
    found = reading.compose(sample('perception'), replies)
    assert found == reading.read(reading._lines(sample('perception'), [
        reply.chosen for reply in replies]), sample('perception'))
    assert list(found['strict'].values()) == [0, 1, None, 1, 0, 1, 0]


@pytest.mark.parametrize(('text', 'better', 'measures', 'cause'), [
    ('Path 1', 0, (1, 1, 1, 0), None), ('Path 1', 1, (0, 0, 1, 0), 'named_first'),
    ('Path 2', 0, (0, 0, 0, 0), 'named_second'), ('path 2', 1, (0, 1, None, 1), 'form'),
    ('path 1', 1, (0, 0, None, 1), 'named_first')])
def test_choices_are_scored(text: str, better: int, measures: Any, cause: str | None) -> None:
    found = scoring.score(sample(), reading.read(text, sample()), {'better': better},
                          SampleReply(text))
    assert tuple(found.measures[name] for name in (
        'solved', 'solved_lenient', 'first', 'unread')) == measures
    assert found.cause == cause


def test_of_equal_paths_none_is_lower() -> None:
    item = sample('perception')
    lower: dict[str, int | None] = dict.fromkeys(NAMES, 0)
    lower |= {'sharp_turns': None, 'smoothness': 1}
    text = reading.write({'lower': dict.fromkeys(NAMES, 0)}, item)
    found = scoring.score(item, reading.read(text, item), {'lower': lower}, SampleReply(text))
    assert found.measures['perceived'] == pytest.approx(5 / 6)
    assert found.measures['lower_sharp_turns'] is None
    assert found.measures['lower_smoothness'] == 0 and found.cause == 'partly_wrong'


def test_recall_and_precision_of_a_list() -> None:
    item, text = sample('needed'), 'Answer: Path length; Smoothness; Sharp turns'
    found = scoring.score(item, reading.read(text, item), {
        'needed': ['path_length', 'minimum_clearance']}, SampleReply(text))
    assert found.measures['recall'] == 0.5
    assert found.measures['precision'] == pytest.approx(1 / 3)


# ------------------------------------------------------------------------- summary and report


def line(number: int, text: str, truth: Any, asks: str = 'choice', split: str = 'test',
         **details: Any) -> dict[str, Any]:
    item = sample(asks)
    answer = reading.read(text, item)
    found = scoring.score(item, answer, truth, SampleReply(text))
    return {'id': str(number), 'kind': 'sample', 'cluster': str(number % 3), 'split': split,
            'model': 'gpt-4o', 'measures': dict(found.measures), 'truth': truth,
            'details': {'asks': asks, 'variant': 'none', 'view': '2d', **details}}


LINES = [
    *(line(number, f'Path {1 + number % 4 // 3}', {'better': number % 2}, scenario=1 + number % 2,
           family='maze', level='small', descriptors=['path_length']) for number in range(8)),
    *(line(10 + number, 'Path 1', {'better': number % 2}, split='segments', kind='curve')
      for number in range(4)),
    line(20, 'Answer:\nPath length: Path 1\nSmoothness: Path 1', {'lower': dict.fromkeys(
        NAMES, 0) | {'smoothness': 1, 'sharp_turns': None}}, 'perception', family='maze',
        levels=dict.fromkeys(NAMES, 'medium'))]


def test_the_summary_has_all_parts() -> None:
    found = scoring.summarise(LINES)
    assert found['positions'] == {'first': 10, 'second': 2, 'neither': 0, 'right_first': 6,
                                  'right_second': 6}
    assert found['by_scenario']['s01']['solved']['value'] == 1.0
    assert found['by_scenario']['s02']['solved'] == {
        **aggregates(LINES[1:8:2], scoring.MEASURES)['solved']}
    assert found['by_kind']['curve']['solved']['value'] == 0.5
    assert found['by_descriptor']['path_length']['solved']['n'] == 8
    perceived = found['perception']
    assert perceived['path_length']['medium']['value'] == 1.0
    assert perceived['smoothness']['all']['value'] == 0.0
    assert perceived['sharp_turns'] == {**perceived['sharp_turns'], 'undefined': 1}
    assert perceived['sharp_turns']['all']['n'] == 0


def test_the_report_puts_ours_beside_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, 'compared', lambda group, split, tokens: {
        'measured': 'here', 'unlike': None})
    monkeypatch.setattr(report, 'Results', lambda runs: SimpleNamespace(groups=runs))
    run: Any = _Run(LINES)
    tables = {table.name: table.rows for table in report.tables([run])}
    ours, *theirs = tables['accuracy']
    assert ours['seen_2d'] == 0.75 and ours['seen_2d_n'] == 8 and ours['seen_3d'] is None
    assert ours['data'] == 'abc' and len(theirs) == 9
    paper = next(row for row in theirs if row['model'] == 'GPT-4o')
    assert (paper['seen_2d'], paper['described_3d'], paper['values']) == (0.665, 0.895, 0.894)
    counts = tables['positions']
    assert (counts[0]['none_first'], counts[0]['none_second']) == (6, 2)
    assert counts[1]['source'] == 'paper, table 2' and counts[1]['random_first'] == 94
    smooth = next(row for row in tables['perception'] if row['descriptor'] == 'Smoothness')
    assert smooth['all'] == 0.0 and smooth['medium'] == 0.0 and smooth['n'] == 1
    assert tables['segments'][0]['curve'] == 0.5 and tables['segments'][1]['curve'] == 0.59
    assert {row['kind'] for row in tables['parts']} == {'task', 'difference', 'descriptor',
                                                        'family'}
    figure = next(iter(report.figures([run])))
    assert 'GPT-4o' in figure.svg and 'curve' in figure.svg


class _Run:
    """As much of a run as the report reads."""

    method, backend = 'ask', 'openai'

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.lines = lines
        self.identity = {'method': {'name': 'ask'}, 'samples': {
            'count': 13, 'test': {'sha256': 'abc'}, 'segments': {'sha256': 'def'}}}


