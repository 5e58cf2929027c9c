"""What every suite must offer; a new folder is found and checked by itself.

The data of a suite are what its own ``generate`` writes, as small as it can. A suite of episodes
and of samples is checked as one of each.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import itertools
import json
import math
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sightplan import cli
from sightplan.agent import answerer_class, answerer_names, make_answerer
from sightplan.metrics.measures import FRACTION, MEAN, Measure, aggregates
from sightplan.model import Action, Form, InputError, Observation, Region, Usage
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.queries import Answer, Generate, TextReply, YesNo
from sightplan.queries.choose import ChoiceReply, Choose, read_choice
from sightplan.queries.detect import Detect, Detection, DetectReply
from sightplan.queries.locate import Locate, LocateReply
from sightplan.records import RunStore
from sightplan.runs import OpenRun, RunSettings, Suite, load_suite, run, sample_work, suite_names
from sightplan.runs.samples import load_samples, read_reply, score_reply, truth_reply
from sightplan.runs.suite_contract import violations
from sightplan.runs.suite_parts import Samples, Scored, Unread
from sightplan.runs.suite_rules import ALL_SAMPLES, EPISODES, SAMPLES
from sightplan_report.sample_page import SamplesOfRuns, section, view

NAMES = suite_names()
OF_SAMPLES = [name for name in NAMES if SAMPLES in load_suite(name).kinds]
OF_EPISODES = [name for name in NAMES if EPISODES in load_suite(name).kinds]
METHODS = sorted(set(answerer_names()) - {'oracle'})
OPTIONS = {'set_of_marks': {'marks': 'model'}}
"""Options of methods: the model itself draws the marks."""
FOR_INSTRUCTIONS = [name for name in METHODS if getattr(answerer_class(name), 'tells_apart', False)
                    or getattr(answerer_class(name), 'instruction_prompt', '')]


def has_instructions(name: str) -> bool:
    """Whether a suite has samples that are instructions, as its prompts say."""
    return any((load_suite(name).folder / 'prompts' / f'{prompt}.yaml').is_file()
               for method in FOR_INSTRUCTIONS
               if (prompt := getattr(answerer_class(method), 'instruction_prompt', '')))


# Methods for instructions ask everything else as ``ask`` does: see the test that says so.
RUNS = [(name, method) for name in OF_SAMPLES for method in METHODS
        if method not in FOR_INSTRUCTIONS or has_instructions(name)]
every_suite = pytest.mark.parametrize('name', NAMES)
every_samples_suite = pytest.mark.parametrize('name', OF_SAMPLES)
every_episodes_suite = pytest.mark.parametrize('name', OF_EPISODES)

fuzzed = pytest.mark.parametrize('count', [300, pytest.param(10_000, marks=pytest.mark.slow)])
INVALID = (
    '', ' ', '\n', '\t\r', '.', '?!', '...', '-', '\0', '\x1b[0m', '\u202e', '\ufeff', 'é', '目',
    '🤖', '<answer></answer>', '<answer>', '</answer>', '<answer>maybe</answer>', '<think>',
    '</think>', '<think>hm</think>', '<explanation>', '{', '}', '{}', '[]', '[[', '"', "'", '`',
    '```json', '```', 'null', 'None', 'nan', 'NaN', '1e999', '-0', 'maybe', 'perhaps', 'unknown',
    'not sure', 'nothing', 'nobody', 'yesterday', 'north', 'know', "I can't see",
    'As a model', '<|endoftext|>', '%s', '{0}', '\\', '\\x', '$(reboot)', 'x' * 5000,
    '[' * 2000, '<answer>' * 50, '((((', 'move(')
"""Pieces of replies; none is an answer, nor are any of them together, to any question."""


class Model(ModelByKind):
    """A model that looks: what it says hangs on the picture's pixels and the text alone."""

    name = 'looking'
    usage = Usage()

    def __init__(self, reply: Callable[[str], str] = lambda key: '') -> None:
        self._reply = reply
        self.free: Callable[[str], str] = lambda key: ''
        self.requests = 0

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.requests += 1
        return [self._yes_no(f'{query.observation.image_id} {query.question.text}')
                for query in request]

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        self.requests += 1
        seen = ' '.join(part if isinstance(part, str) else Observation(part).image_id
                        for part in request.parts)
        return TextReply(self._reply(seen) or self.free(seen) or self._yes_no(seen).text)

    @answers(Choose)
    def choose(self, request: Choose, deadline: Deadline) -> ChoiceReply:
        return read_choice(self.generate(Generate(request.system, request.parts), deadline).text,
                           request.options)

    @answers(Locate)
    def locate(self, request: Locate, deadline: Deadline) -> LocateReply:
        self.requests += 1
        rng = random.Random(f'{Observation(request.image).image_id} {request.target.text}')
        form = request.target.form
        low, high = (tuple(sorted((rng.random(), rng.random()))) for _ in 'xy')
        corners = tuple(zip(low, high, strict=True))
        region = Region(form, corners[:1] if form is Form.POINT else corners)
        return LocateReply((region,), json.dumps([region.to_json()]), rng.random())


    @answers(Detect)
    def detect(self, request: Detect, deadline: Deadline) -> DetectReply:
        self.requests += 1
        rng = random.Random(f'{Observation(request.image).image_id} {request.attempt}')
        return DetectReply(tuple(
            Detection(Region(Form.BOX, ((x / 10, 0.4), (x / 10 + 0.08, 0.4 + 0.5 * rng.random()))),
                      {kind: 1.0}, {'red': 1.0}, 1.0, 0.0 if 'drawer' in kind else None)
            for x, kind in enumerate(('mug', 'mug', 'can', 'tray', 'bowl', 'drawer:top',
                                      'drawer:bottom'))))

    def _yes_no(self, key: str) -> Answer:
        fraction = random.Random(key).random()
        text = self._reply(key)
        return Answer(text or ('Yes' if fraction > 0.5 else 'No'), fraction, 1 - fraction)


def _free_reply(suite: Suite, items: Sequence[Any], key: str) -> str:
    """A valid reply in free text, which hangs on what was seen alone; '' where none is wanted."""
    free = next((item for item in items if item.question is None and item.target is None), None)
    return '' if free is None else suite.guess(free, random.Random(key))


@pytest.fixture(scope='module')
def data(tmp_path_factory: Any) -> Callable[[str], Path]:
    """A suite's smallest folder of data, made once for all workers of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    folder: Path = base.parent if 'PYTEST_XDIST_WORKER' in os.environ else base

    @functools.cache
    def call(name: str) -> Path:
        made = folder / f'data-{name}'
        with open(folder / f'data-{name}.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                makes(name)(folder / f'data-{name}.new', least(name), 0)
                (folder / f'data-{name}.new').rename(made)
        return made
    return call


def makes(name: str) -> Callable[[Path, int, int], Any]:
    """What writes a suite's data: one folder, also where they make episodes and samples."""
    return load_suite(name).generate


def least(name: str) -> int:
    """How much data is enough for two samples of each split."""
    return 2 if len(load_suite(name).kinds) > 1 else 1


@contextlib.contextmanager
def opened_run(name: str, method: str, out: Path, data: Path, model: Model | None = None,
               ) -> Iterator[OpenRun]:
    """A run of all splits of samples of a suite's data."""
    backend = model or Model()
    with OpenRun(RunSettings(suite=name, method=method, split=ALL_SAMPLES,
                             backend='noisy_oracle', out=str(out),
                             method_options=OPTIONS.get(method, {}),
                             suite_options={'data': str(data)}), backend=backend) as opened:
        backend.free = functools.partial(_free_reply, load_suite(name), opened.work.plan.items)
        yield opened


def execute(name: str, method: str, out: Path, data: Path, model: Model | None = None) -> tuple[
        dict[str, Any], list[dict[str, Any]]]:
    """Run all splits of samples of a suite's data; summary and lines."""
    with opened_run(name, method, out, data, model) as opened:
        walked = opened.walk()
        return opened.summarise(walked), opened.store.lines()


def command(capsys: Any, *words: object) -> tuple[int, dict[str, Any], str]:
    """Exit code, result and standard error of ``sightplan suite ... --json``."""
    capsys.readouterr()
    code = cli.main(['suite', *map(str, words), '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else {}, err


# -------------------------------------------------------------------------------- every suite


def test_there_are_suites() -> None:
    assert {'viplan', 'predicates'} <= set(NAMES)


@every_suite
def test_its_files_say_what_it_is(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name and suite.title and (suite.folder / 'README.md').is_file()


@every_suite
def test_it_keeps_the_contract(name: str, data: Callable[[str], Path]) -> None:
    """What the kit checks of a stranger's suite, too: measures, samples, reading, scoring."""
    suite = load_suite(name)
    assert violations(suite, {'data': str(data(name))} if SAMPLES in suite.kinds else {}) == []


class Colours(Suite):
    """A sound suite in a few lines."""

    name = title = 'colours'
    splits = ('all_of_it',)

    def samples(self, split: str, options: Mapping[str, Any]) -> Samples:
        """Two samples."""
        return Samples.of((Sample(str(n), split, str(n), (f'Colour {n}?',)), colour)
                          for n, colour in enumerate(('red', 'blue')))

    def read(self, text: str, sample: Sample) -> Any:
        """A colour."""
        if text not in ('red', 'blue'):
            raise Unread('no colour')
        return text


def _with(sample: Sample, **changes: Any) -> Callable[..., Samples]:
    return lambda split, options: Samples.of([(dataclasses.replace(sample, **changes), 'red')])


_SAMPLE = Sample('0', 'all_of_it', '0', ('Colour?',))
_PICTURE = Picture('flat', lambda: np.zeros((2, 2), np.uint8))
_SCORE = Measure('correct', 'fraction of colours', primary=True)


@pytest.mark.parametrize(('part', 'value', 'said'), [
    ('samples', _with(_SAMPLE), None),
    ('samples', _with(_SAMPLE, split='other'), "has split 'other'"),
    ('samples', _with(_SAMPLE, cluster=''), 'has no cluster'),
    ('samples', _with(_SAMPLE, parts=()), 'shows nothing'),
    ('samples', _with(_SAMPLE, details={'x': math.nan}), 'no plain JSON data'),
    ('samples', _with(_SAMPLE, parts=(_PICTURE, 'Colour?')), 'no array of shape'),
    ('samples', lambda split, options: Samples.of(()), 'a split without samples'),
    ('samples', lambda split, options: dataclasses.replace(
        _with(_SAMPLE)(split, options), identity={'time': random.random()}), 'another identity'),
    ('measures', lambda kind: (), 'exactly one measure'),
    ('measures', lambda kind: (_SCORE, _SCORE), 'two measures called correct'),
    ('measures', lambda kind: (dataclasses.replace(_SCORE, about=''),), 'does not say what'),
    ('measures', lambda kind: (dataclasses.replace(_SCORE, bounded_by='x'),), 'bounded by x'),
    ('measures', lambda kind: (dataclasses.replace(_SCORE, kind=MEAN),), 'declared as a mean'),
    ('measures', lambda kind: (_SCORE, Measure('more', 'of it', MEAN)), 'no value for more'),
    ('read', lambda text, sample: text[0], 'makes read.. fail: IndexError'),
    ('write', lambda truth, sample: 'green', "the true reply 'green' is not right: no colour"),
    ('guess', lambda sample, rng: 'green', "guess.. gives 'green'"),
    ('score', lambda sample, answer, truth, reply: Scored({'correct': 0.0}), 'true replies get 0'),
    ('score', lambda sample, answer, truth, reply: Scored({'correct': math.inf}), 'no finite'),
    ('score', lambda sample, answer, truth, reply: Scored({'correct': float(answer == truth)}),
     'names no cause')])
def test_the_kit_names_what_is_wrong(part: str, value: Any, said: str | None,
                                     monkeypatch: Any) -> None:
    suite = Colours()
    monkeypatch.setattr(suite, part, value)
    found = violations(suite)
    assert found == [] if said is None else any(re.search(said, one) for one in found), found


@every_suite
@pytest.mark.parametrize('seed', [0, pytest.param(1, marks=pytest.mark.slow)])
def test_one_seed_gives_the_same_files_another_one_others(
        name: str, seed: int, data: Callable[[str], Path], tmp_path: Path) -> None:
    def content(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob('*')) if path.is_file()}
    makes(name)(tmp_path / 'made', least(name), seed)
    assert (content(tmp_path / 'made') == content(data(name))) is (seed == 0)


@every_suite
def test_what_it_generates_passes_its_check(name: str, data: Callable[[str], Path], capsys: Any,
                                            ) -> None:
    code, report, _ = command(capsys, name, 'check', '--data', data(name))
    assert code == 0 and report['skipped'] == []
    assert report['counts'] and sum(report['counts'].values()) > 0


@every_suite
def test_check_names_what_is_skipped(name: str, data: Callable[[str], Path], tmp_path: Path,
                                     capsys: Any) -> None:
    empty = tmp_path / 'none'
    code, _, err = command(capsys, name, 'check', '--data', empty)
    assert code == 2 and str(empty) in err
    spoiled = tmp_path / 'spoiled'
    for path in data(name).rglob('*'):
        if path.is_file():
            target = spoiled / path.relative_to(data(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    victim = sorted(path for path in spoiled.rglob('*')
                    if path.is_file() and path.suffix in ('.pddl', '.png', '.json')
                    and path.name != 'index.json')[0]
    victim.write_bytes(victim.read_bytes()[:20])
    code, report, _ = command(capsys, name, 'check', '--data', spoiled)
    assert code == 1
    assert any(victim.name in item['file'] and item['reason'] for item in report['skipped'])


@every_suite
def test_generate_never_writes_over_data(name: str, data: Callable[[str], Path], capsys: Any,
                                         ) -> None:
    before = {path: path.stat().st_mtime_ns for path in data(name).rglob('*')}
    code, _, err = command(capsys, name, 'generate', '--out', data(name), '--count', '1')
    assert code == 2 and str(data(name)) in err
    assert {path: path.stat().st_mtime_ns for path in data(name).rglob('*')} == before


@every_suite
@pytest.mark.parametrize(('content', 'said'), [
    ('', 'no prediction'), ('nonsense', ':1: is not JSON'), ('[1]', ':1'),
    ('{"answer": null}', ':1: id is missing'), ('{"id": "x"}', ':1: answer is missing'),
    ('{"id": "x", "answer": 3}', ':1: answer'), ('\n{"id": "none", "answer": null}', ':2: id = '),
    ('{"id": "x", "answer": null, "answr": 1}', 'answr is unknown')])
def test_bad_predictions_are_named(name: str, content: str, said: str, tmp_path: Path,
                                   data: Callable[[str], Path], capsys: Any) -> None:
    path = tmp_path / 'predictions.jsonl'
    path.write_text(content)
    code, _, err = command(capsys, name, 'score', '--data', data(name), '--predictions', path)
    assert code in (1, 2) and str(path) in err and said in err


# ------------------------------------------------------------------------------------- samples


def check_interval(measure: Measure, lines: Sequence[Mapping[str, Any]],
                   found: Mapping[str, Any]) -> None:
    """Whether values are of the measure's kind, and the interval is one of them."""
    values = [value for line in lines
              if (value := line['measures'].get(measure.name)) is not None]
    if measure.kind == FRACTION:
        assert set(values) <= {0.0, 1.0}, measure.name
    if measure.statistic is None:
        assert found['n'] == len(values)
    if found['value'] is not None and (measure.kind == FRACTION or measure.counts):
        low, high = found['interval95']
        assert 0.0 <= low <= found['value'] <= high <= 1.0 and low < high, measure.name


@every_samples_suite
def test_the_oracle_gets_the_maximum(name: str, data: Callable[[str], Path], tmp_path: Path,
                                     spy: Spy) -> None:
    """It is given the truth, by the visible port."""
    summary, lines = execute(name, 'oracle', tmp_path / 'run', data(name))
    assert spy.granted == ['oracle'] * len(lines) and set(spy.leaks) == {('oracle', 'truth')}
    suite = load_suite(name)
    assert summary['items'] == len(lines) > 0 and summary['errors'] == summary['unread'] == 0
    assert all(line['cause'] is None for line in lines)
    for measure in suite.measures(SAMPLES):
        value = summary['measures'][measure.name]['value']
        if measure.kind == 'fraction' or measure.primary:
            assert value == (1.0 if measure.higher_is_better else 0.0), measure.name


@pytest.mark.parametrize(('name', 'method'), RUNS)
def test_every_answerer_runs_without_the_truth(
        name: str, method: str, spy: Spy, data: Callable[[str], Path], tmp_path: Path,
        monkeypatch: Any) -> None:
    """It is not given the truth; and with that of other samples it replies as before."""
    model, suite = Model(), load_suite(name)
    summary, lines = execute(name, method, tmp_path / 'run', data(name), model=model)
    assert spy.granted == spy.leaks == []
    assert summary['items'] == len(lines) == summary['scored'] > 0 and summary['errors'] == 0
    assert (model.requests > 0) is answerer_class(method).needs_model
    assert summary['measures'][suite.primary(SAMPLES).name]['value'] is not None
    for measure in suite.measures(SAMPLES):
        check_interval(measure, lines, summary['measures'][measure.name])
    for line in lines:
        assert {'id', 'suite', 'kind', 'cluster', 'domain', 'split', 'method', 'model', 'seed',
                'measures', 'cause', 'answer', 'unread', 'error', 'usage', 'seconds', 'reply',
                'p_yes', 'p_no', 'p_right', 'truth', 'details', 'unknown'
                } == set(line) - {'picture'}  # Those of each cause that were drawn have one.
        assert line['suite'] == name and line['kind'] == 'sample' and line['method'] == method
    if answerer_class(method).sees_pictures and all(line['details'].get('atom') for line in lines):
        # Questions about one picture go in one request.
        assert model.requests == len({line['cluster'] for line in lines}) < len(lines)
    move_truths(suite, monkeypatch)
    again = replies(name, method, tmp_path / 'again', data(name))
    assert [line['truth'] for line in lines] != [line['truth'] for line in again]
    for key in ('reply', 'p_yes', 'answer'):
        assert [line[key] for line in lines] == [line[key] for line in again], key


def replies(name: str, method: str, out: Path, data: Path) -> list[dict[str, Any]]:
    """The lines of a run whose replies are read, but not scored, which may take long."""
    def unscored(suite: Suite, sample: Any, truth: Any, reply: SampleReply) -> dict[str, Any]:
        answer, unread = read_reply(suite, sample, reply)
        return {'measures': {}, 'cause': None, 'answer': answer, 'unread': unread}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_work, 'score_reply', unscored)
        with opened_run(name, method, out, data) as opened:
            opened.walk()
            return opened.store.lines()


def move_truths(suite: Suite, monkeypatch: Any) -> None:
    """Give each sample the truth of the next one; of yes/no questions the opposite of it."""
    real = suite.samples

    def moved(split: str, options: Any) -> Any:
        part = real(split, options)
        order = [sample.id for sample in part.items]
        truths = {one: part.truth(other) for one, other in zip(
            order, order[1:] + order[:1], strict=True)}
        return dataclasses.replace(part, truth=lambda key: (
            not truths[key] if isinstance(truths[key], bool) else truths[key]))
    monkeypatch.setattr(suite, 'samples', moved)


def asked_by(method: str, samples: Sequence[Sample], monkeypatch: Any) -> list[Any]:
    """What a method asks as ``ask`` does: samples and prompts; each reply is the sample's id."""
    asked: list[Any] = []

    def ask_samples(context: Any, samples: Sequence[Sample], *prompts: str) -> list[SampleReply]:
        asked.append((tuple(sample.id for sample in samples), *prompts))
        return [SampleReply(sample.id) for sample in samples]
    monkeypatch.setattr('sightplan.agent.methods.ask.ask_samples', ask_samples)
    said = make_answerer(method, {}).answer(samples, cast(Any, None))
    assert [reply.text for reply in said] == [sample.id for sample in samples]
    return asked


@every_samples_suite
def test_methods_for_instructions_ask_all_else_as_ask_does(
        name: str, data: Callable[[str], Path], monkeypatch: Any) -> None:
    others = []
    for part in load_samples(load_suite(name), 'all', {'data': str(data(name))}):
        instructions = [sample for sample in part.items if 'instruction' in sample.details]
        assert not instructions or has_instructions(name)
        others += [sample for sample in part.items if sample not in instructions]
    assert others or has_instructions(name)
    if others:
        for method in FOR_INSTRUCTIONS:
            assert asked_by(method, others, monkeypatch) == asked_by('ask', others, monkeypatch)


@every_samples_suite
def test_scoring_again_equals_live(name: str, data: Callable[[str], Path], tmp_path: Path,
                                   capsys: Any) -> None:
    summary, lines = execute(name, 'ask', tmp_path / 'run', data(name))
    assert len({json.dumps(line['answer']) for line in lines}) > 1
    path = tmp_path / 'predictions.jsonl'
    path.write_text(''.join(json.dumps({
        'id': line['id'], 'answer': line['reply'], 'p_yes': line['p_yes'],
        'p_no': line['p_no']}) + '\n' for line in lines))
    code, found, _ = command(capsys, name, 'score', '--data', data(name), '--predictions', path)
    assert code == 0 and found['missing'] == []
    assert found['measures'] == summary['measures']
    assert (_count(found), found['unread']) == (summary['items'], summary['unread'])
    path.write_text(''.join(path.read_text().splitlines(keepends=True)[1:]))
    code, found, err = command(capsys, name, 'score', '--data', data(name), '--predictions', path)
    assert code == 0 and found['missing'] == [lines[0]['id']] and lines[0]['id'] in err


@every_samples_suite
def test_a_runs_own_lines_score_as_they_did_live(
        name: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    summary, lines = execute(name, 'ask', tmp_path / 'run', data(name))
    own = tmp_path / 'run' / 'episodes.jsonl'
    code, found, _ = command(capsys, name, 'score', '--data', data(name), '--predictions', own)
    assert code == 0 and found['missing'] == []
    assert found['measures'] == summary['measures']
    assert (_count(found), found['unread']) == (summary['items'], summary['unread'])
    assert found['measures'][load_suite(name).primary(SAMPLES).name]['n'] == len(lines)
    assert found['changed'] == []


@every_samples_suite
@pytest.mark.parametrize('backend', ['looking', 'noisy_oracle', 'replay'])
def test_a_runs_own_file_is_enough_to_score_it_again(
        name: str, backend: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any,
        monkeypatch: Any) -> None:
    """Without any option, from another folder, of runs that were resumed or replayed."""
    folder, method, options = tmp_path / 'run', 'ask', {}
    if backend == 'replay':
        options = {'path': str(_recorded(name, tmp_path / 'first', data(name)))}
    elif backend == 'noisy_oracle':  # the truth with errors, where a suite has it; else guesses
        method = 'ask' if load_suite(name).name == 'predicates' else 'random'
        options = {'table': 'gpt-4.1'} if method == 'ask' else {}
    monkeypatch.chdir(data(name).parent)
    settings = RunSettings(
        suite=name, method=method, split=ALL_SAMPLES, out=str(folder), backend_options=options,
        backend=backend if backend == 'replay' else 'noisy_oracle',
        suite_options={'data': data(name).name})
    for part in (slice(None, None, 2), slice(None)):  # the second one resumes the first
        model = _looking(name, data(name)) if backend == 'looking' else None
        with OpenRun(settings, backend=model) as opened:
            walked = opened.walk(opened.work.plan.items[part])
            summary, lines = opened.summarise(walked), opened.store.lines()
    monkeypatch.chdir(tmp_path)
    code, found, err = command(capsys, name, 'score', '--predictions', folder / 'episodes.jsonl')
    assert code == 0, err
    assert found['missing'] == [] and found['measures'] == summary['measures']
    assert (_count(found), found['unread']) == (summary['items'], summary['unread'])
    causes = [line['cause'] for line in lines if line['cause']]
    assert found['causes'] == {cause: causes.count(cause) for cause in causes}


def _looking(name: str, data: Path) -> Model:
    model = Model()
    items = load_samples(load_suite(name), ALL_SAMPLES, {'data': str(data)})
    model.free = functools.partial(_free_reply, load_suite(name), [
        item for part in items for item in part.items])
    return model


def _recorded(name: str, out: Path, data: Path) -> Path:
    """A run of the model that looks whose requests and replies are recorded."""
    settings = RunSettings(suite=name, method='ask', split=ALL_SAMPLES, backend='noisy_oracle',
                           record=True, out=str(out), suite_options={'data': str(data)})
    with OpenRun(settings, backend=_looking(name, data)) as opened:
        opened.walk()
    return out


@every_samples_suite
def test_a_runs_lines_are_not_scored_by_other_truths_in_silence(
        name: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any,
        monkeypatch: Any) -> None:
    _, lines = execute(name, 'random', tmp_path / 'run', data(name))
    own = tmp_path / 'run' / 'episodes.jsonl'
    own.write_text(''.join(json.dumps({**line, 'truth': 'another'}) + '\n' for line in lines))
    code, found, err = command(capsys, name, 'score', '--data', data(name), '--predictions', own)
    assert code == 0 and sorted(found['changed']) == sorted(line['id'] for line in lines)
    assert 'WARNING: the truth of' in err and lines[0]['id'] in err
    (tmp_path / 'run' / 'run.json').unlink()
    suite = load_suite(name)
    real = suite.samples

    def few(split: str, options: Mapping[str, Any]) -> Samples:
        with contextlib.suppress(InputError):
            return real(split, {'count': 1, **options})
        return real(split, options)  # this suite draws none
    monkeypatch.setattr(suite, 'samples', few)
    code, _, err = command(capsys, name, 'score', '--predictions', own)
    assert code in (1, 2) and '--data' in err


@every_samples_suite
def test_wrong_samples_have_a_page_with_picture_truth_and_answer(
        name: str, data: Callable[[str], Path], tmp_path: Path) -> None:
    _, lines = execute(name, 'random', tmp_path / 'run', data(name))
    wrong = [line for line in lines if line['cause']]
    assert len(wrong) > 1
    store, samples = RunStore(tmp_path / 'run'), SamplesOfRuns()
    for line in (*wrong[:3], {**wrong[0], 'answer': None, 'unread': 'nothing was said'}):
        page, why = samples.page(store.folder, store.run_info(), load_suite(name), line)
        assert page is not None, why
        shown = view(line, store.folder, store.run_info(), load_suite(name), samples)
        assert shown.asked and shown.truth and not shown.notes
        assert bool(shown.answer) is (line['answer'] is not None)
        assert shown.uri.startswith('data:image/jpeg') and min(shown.size) > 60
        html = section(shown)
        assert line['id'].split('(')[0] in html
        assert ('could not be read' in html) is (line['answer'] is None)
    kept = [line for line in wrong if line.get('picture')]
    assert kept and (tmp_path / 'run' / kept[0]['picture']).read_bytes().startswith(b'\x89PNG')


@every_suite
def test_lines_of_another_suites_run_are_refused(name: str, data: Callable[[str], Path],
                                                 tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / 'episodes.jsonl'
    path.write_text(json.dumps({'id': 'x', 'suite': 'another', 'kind': 'sample', 'answer': None,
                                'measures': {}, 'details': {}}) + '\n')
    code, _, err = command(capsys, name, 'score', '--data', data(name), '--predictions', path)
    assert code in (1, 2) and f'{path}:1' in err and 'another suite' in err


def _count(found: Mapping[str, Any]) -> int:
    """How many items were scored: a suite's own command may list them."""
    items: int | list[Any] = found['items']
    return len(items) if isinstance(items, list) else items


def _worthless(suite: Suite, text: str, sample: Any, truth: Any) -> None:
    """A reply without a valid answer is unread, counts as wrong, and nothing crashes."""
    with pytest.raises(Unread) as unread:
        suite.read(text, sample)
    assert str(unread.value)
    found = score_reply(suite, sample, truth, SampleReply.of_answer(Answer(text, 0.5, 0.5)))
    assert found['answer'] is None and found['unread'] and found['cause']
    assert found['measures'][suite.primary(SAMPLES).name] == 0.0
    assert not any(found['measures'].get(measure.name) for measure in suite.measures(SAMPLES)
                   if measure.kind == 'fraction' and measure.higher_is_better)


@every_samples_suite
@fuzzed
def test_replies_without_an_answer_never_score(
        name: str, count: int, data: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    suite, rng = load_suite(name), random.Random(1)
    parts = load_samples(suite, 'all', {'data': str(data(name))})
    samples = [(sample, part.truth(sample.id)) for part in parts for sample in part.items]
    replies: list[str] = []
    while len(replies) < count:
        pieces = rng.choices(INVALID, k=rng.randint(1, 6))
        replies.append(rng.choice((' ', '\n', ', ')).join(pieces))
    for number, text in enumerate(replies):
        _worthless(suite, text, *samples[number % len(samples)])
    path = tmp_path / 'predictions.jsonl'
    path.write_text(''.join(json.dumps({'id': sample.id, 'answer': text}) + '\n'
                            for (sample, _), text in zip(samples, replies, strict=False)))
    code, found, _ = command(capsys, name, 'score', '--data', data(name), '--predictions', path)
    assert code == 0 and found['unread'] == _count(found) == min(len(samples), count)
    assert found['measures'][suite.primary(SAMPLES).name]['value'] == 0.0


@every_samples_suite
@settings(max_examples=100, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.text(st.characters(exclude_categories=['L', 'N']), max_size=200))
def test_replies_without_a_letter_or_digit_never_score(
        name: str, data: Callable[[str], Path], text: str) -> None:
    suite = load_suite(name)
    part = _first(name, data(name))
    _worthless(suite, text, part.items[0], part.truth(part.items[0].id))


@every_samples_suite
@settings(max_examples=100, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.text(max_size=200))
def test_any_reply_is_read_or_unread(name: str, data: Callable[[str], Path], text: str) -> None:
    suite = load_suite(name)
    part = _first(name, data(name))
    found = score_reply(suite, part.items[0], part.truth(part.items[0].id), SampleReply(text))
    assert (found['answer'] is None) is bool(found['unread'])
    assert json.loads(json.dumps(found)) == found


WHOLE = [[0.0, 0.0], [1.0, 1.0]]
_HOLLOW = ('', '[]', '{}', 'nothing', 'NaN', '[NaN]', 'Yes, no', 'yes or no', 'Solution: nothing',
           '[{"form": "box", "points": [[NaN, NaN], [NaN, Infinity]]}]',
           json.dumps([{'form': 'box', 'points': WHOLE}]),
           json.dumps([{'form': 'point', 'points': [[x / 30, y / 30]]}
                       for x in range(30) for y in range(30)]),
           json.dumps([{'form': 'point', 'points': [[0.5, 0.5]]}] * 999),
           json.dumps([{'form': 'trace', 'points': [[x / 9, x % 2] for x in range(10)]}]),
           *(json.dumps({'coords': 'unit_xyxy', 'actions': [
               {'action': action, 'target': 'it', 'bbox': box, 'point': point}
               for _ in range(40) for action in ('open', 'grasp', 'place', 'close')]})
             for box, point in (([0.0, 0.0, 1.0, 1.0], [0.5, 0.5]), ([None], 3),
                                ([math.nan] * 4, [math.inf] * 2))))
"""Replies that say nothing, the whole picture, all of it in small parts, and no numbers."""


def hollow(suite: Suite, sample: Any) -> dict[str, str]:
    """Replies that know nothing of a sample: each says nothing, everything, or one thing often."""
    replies = {f'text {number}': text for number, text in enumerate(_HOLLOW)}
    names = [option for choice in sample.choices for option in choice.options]
    for joint in (' ', ', ', ' or ', ' and ', '/', '\n'):
        replies[f'all options by {joint!r}'] = f'Answer: {joint.join(dict.fromkeys(names))}'
    if sample.question is None:
        drawn = [suite.guess(sample, random.Random(seed)) for seed in range(60)]
        replies |= {'many guesses': '\n'.join(drawn), 'one guess often': '\n'.join(drawn[:1] * 60)}
    if 'cells' in sample.details or suite.name == 'ivispar':
        cells = [f'{column}{row}' for column in 'abcd' for row in range(1, 5)]
        kinds = list(itertools.product(('green', 'red', 'blue', 'yellow'),
                                       ('cube', 'sphere', 'pyramid', 'cylinder')))
        listed = [f'{cell} {colour} {shape}' for cell in cells for colour, shape in kinds]
        by_piece = sorted(listed, key=lambda one: one.split()[1:])
        replies |= {'every piece on every cell': f'Solution: {", ".join(listed)}',
                    'the same, by piece': f'Solution: {", ".join(by_piece)}',
                    'one item often': f'Solution: {", ".join(listed[:1] * 500)}'}
    if suite.name == 'patheval':
        from sightplan_suites.paths.descriptors import KEYS
        replies |= {'every descriptor': f'Answer: {"; ".join(KEYS)}',
                    'both for every descriptor': 'Answer:\n' + '\n'.join(
                        f'{key}: {" or ".join(dict.fromkeys(names))}' for key in KEYS)}
    if sample.question is not None:
        replies |= {'always yes': 'Yes', 'always no': 'No'}
    return replies


ASKED_OTHERWISE = {
    'point_it_out': ({'form': 'box'},), 'grounded_plan': ({'grasp_criterion': 'point_in_box'},),
    'patheval': ({'variant': 'random'}, {'variant': 'perception'}, {'variant': 'level1'})}
"""Options of suites that change what is asked, or how it is scored."""


@pytest.mark.parametrize(('name', 'options'), [
    (name, options) for name in OF_SAMPLES for options in ({}, *ASKED_OTHERWISE.get(name, ()))])
def test_no_measure_rewards_answers_that_know_nothing(
        name: str, options: dict[str, str], data: Callable[[str], Path]) -> None:
    """Nothing, everything, duplicates, no numbers, the whole picture, both options.

    A measure may be high for one of them only if it names another one that is then low.
    """
    suite = load_suite(name)
    measures = {measure.name: measure for measure in suite.measures(SAMPLES)}
    parts = load_samples(suite, 'all', {'data': str(data(name)), **options})
    samples = [(sample, part.truth(sample.id)) for part in parts for sample in part.items]
    samples = random.Random(0).sample(samples, min(len(samples), 12))
    replies = {sample.id: hollow(suite, sample) for sample, _ in samples}
    best = {key: found['value'] for key, found in aggregates(
        [_scored(suite, *one) for one in samples], list(measures.values())).items()}
    for label in dict.fromkeys(itertools.chain.from_iterable(replies.values())):
        asked = [(sample, truth, text) for sample, truth in samples
                 if (text := replies[sample.id].get(label)) is not None]
        lines = [_scored(suite, sample, truth, text) for sample, truth, text in asked]
        assert all(value is None or math.isfinite(value)
                   for line in lines for value in line['measures'].values()), label
        found = {key: one['value'] for key, one in aggregates(
            lines, list(measures.values())).items()}

        def good(key: str, found: Any = found) -> bool:
            """Whether a value is nearer to the best one than what guessing gives."""
            value, measure = found[key], measures[key]
            if value is None or best[key] is None:
                return False
            return (value > 0.7 * best[key] if measure.higher_is_better
                    else value < best[key] + 0.05)
        for key, measure in measures.items():
            if measure.higher_is_better or measure.bounded_by:
                assert not good(key) or (measure.bounded_by and not good(measure.bounded_by)), (
                    label, key, found[key], best[key])


def _scored(suite: Suite, sample: Any, truth: Any, text: str | None = None) -> dict[str, Any]:
    """A line of one reply; without one of the true reply."""
    reply = truth_reply(suite, sample, truth) if text is None else SampleReply(text)
    if text in ('Yes', 'No'):
        reply = SampleReply.of_answer(Answer(text, float(text == 'Yes'), float(text == 'No')))
    return {'id': sample.id, 'kind': 'sample', 'cluster': sample.cluster, 'split': sample.split,
            'domain': sample.domain, 'details': sample.details,
            **score_reply(suite, sample, truth, reply)}


@every_suite
def test_numbers_that_are_none_are_refused_or_score_nothing(
        name: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / 'predictions.jsonl'
    suite = load_suite(name)
    kind = suite.kinds[-1]
    known = (next(iter(suite.problems(data(name)))) if kind == EPISODES
             else load_samples(suite, 'all', {'data': str(data(name))})[0].items[0].id)
    for line in ('"answer": NaN', '"answer": [NaN]', '"answer": "NaN", "p_yes": NaN, "p_no": NaN',
                 '"answer": ["NaN"]', '"answer": "Yes", "p_yes": Infinity, "p_no": 0',
                 '"answer": "Yes", "p_yes": -1, "p_no": 2', '"actions": [NaN]',
                 '"points": [[NaN, NaN]], "coordinates": "unit_xy"'):
        path.write_text(f'{{"id": {json.dumps(known)}, {line}}}\n')
        code, found, err = command(capsys, name, 'score', '--data', data(name),
                                   '--predictions', path)
        assert code in (0, 1, 2) and (code != 2 or f'{path}:1' in err), (line, err)
        if code == 0:
            primary = found['measures'][suite.primary(kind).name]['value']
            assert primary in (None, 0.0), line


_loaded: dict[str, Samples] = {}


def _first(name: str, data: Path) -> Samples:
    if name not in _loaded:
        _loaded[name] = load_samples(load_suite(name), 'all', {'data': str(data)})[0]
    return _loaded[name]


class Spy:
    """Notes who reads the truth while a method answers: the visible port is SampleTruth."""

    def __init__(self, monkeypatch: Any) -> None:
        self.answering = ''
        self.leaks: list[tuple[str, str]] = []
        self.granted: list[str] = []
        plan, port = sample_work.SamplePlan, sample_work._Truth

        def watch(cls: Any, attribute: str, note: Callable[[], None]) -> None:
            real = getattr(cls, attribute)

            def spied(*arguments: Any) -> Any:
                note()
                return real(*arguments)
            monkeypatch.setattr(cls, attribute, spied)

        def leak(what: str) -> Callable[[], None]:
            return lambda: self.leaks.append((self.answering, what)) if self.answering else None

        watch(plan, 'truth', leak('truth'))
        watch(plan, 'truth_source', leak('truth_source'))
        watch(plan, 'mask_source', leak('mask_source'))
        watch(port, 'reply', lambda: self.granted.append(self.answering))

    def watched(self, method: str, answerer: Any) -> Any:
        """The answerer, with a note of when it answers."""
        real = answerer.answer

        def answer(samples: Sequence[Any], context: Any) -> Any:
            self.answering = method
            try:
                return real(samples, context)
            finally:
                self.answering = ''
        answerer.answer = answer
        return answerer


@pytest.fixture
def spy(monkeypatch: Any) -> Spy:
    found = Spy(monkeypatch)
    monkeypatch.setattr(sample_work, 'make_answerer', lambda name, values, truth: found.watched(
        name, make_answerer(name, values, truth)))
    return found


@every_samples_suite
def test_a_leak_would_be_seen(name: str, spy: Spy, data: Callable[[str], Path], tmp_path: Path,
                              monkeypatch: Any) -> None:
    def peeking(method: str, values: Any, truth: Any) -> Any:
        answerer = make_answerer(method, values)
        answerer.answer = lambda samples, context: [  # type: ignore[method-assign]
            SampleReply(str(truth._plan.truth(truth._handed.real(sample)))) for sample in samples]
        return spy.watched(method, answerer)
    monkeypatch.setattr(sample_work, 'make_answerer', peeking)
    execute(name, 'ask', tmp_path / 'run', data(name))
    assert spy.leaks


@every_samples_suite
@pytest.mark.parametrize('method', ['ground', 'belief', 'nonsense'])
def test_methods_of_the_wrong_kind_are_named(name: str, method: str, capsys: Any) -> None:
    with pytest.raises(Exception, match=method) as wrong:
        execute(name, method, Path('nowhere'), Path('nowhere'))
    assert 'ask' in str(wrong.value) and not Path('nowhere').exists()


# ------------------------------------------------------------------------------------ episodes


@every_episodes_suite
def test_episodes_scoring_again_equals_live(name: str, data: Callable[[str], Path],
                                            tmp_path: Path, capsys: Any) -> None:
    """The oracle solves every problem with failures off; so says scoring its actions again."""
    domain = next(iter(load_suite(name).domains))
    folder = sorted(path for path in (data(name) / domain).iterdir() if path.is_dir())[0]
    path = tmp_path / 'predictions.jsonl'
    for method, solved in (('oracle', 1.0), ('idle', 0.0)):
        summary = run(RunSettings(suite=name, domain=domain, method=method, problems=str(folder),
                                  out=str(tmp_path / method)))
        assert summary['measures']['solved']['value'] == solved
        path.write_text(''.join(json.dumps({
            'id': f'{folder.relative_to(data(name))}/{line["cluster"].split("/")[-1]}',
            'answer': line['answer']}) + '\n' for line in RunStore(tmp_path / method).lines()))
        code, found, _ = command(capsys, name, 'score', '--data', data(name),
                                 '--predictions', path)
        assert code == 0 and found['items'] == summary['items']
        for measure in ('solved', 'steps', 'optimality'):
            assert found['measures'][measure] == summary['measures'][measure], (method, measure)


@pytest.mark.parametrize(('name', 'domain'), [
    (name, domain) for name in OF_EPISODES for domain in load_suite(name).domains])
@pytest.mark.parametrize(('method', 'failures'), [
    ('oracle', 0.0), ('random', 0.0), ('idle', 0.0), ('oracle', 0.5)])
def test_a_runs_own_episodes_score_as_they_did_live(
        name: str, domain: str, method: str, failures: float, data: Callable[[str], Path],
        tmp_path: Path, capsys: Any) -> None:
    folder = sorted(path for path in (data(name) / domain).iterdir() if path.is_dir())[0]
    summary = run(RunSettings(suite=name, domain=domain, method=method, problems=str(folder),
                              failure_probability=failures, max_actions=7, stop_at_goal='yes',
                              out=str(tmp_path / 'run')))
    own = tmp_path / 'run' / 'episodes.jsonl'
    code, found, _ = command(capsys, name, 'score', '--data', data(name), '--predictions', own)
    assert code == 0 and found['items'] == summary['items'] > 0
    assert found['measures'] == summary['measures']


@every_episodes_suite
def test_actions_are_carried_out_within_the_suites_rules(
        name: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    """What comes after the budget never counts, nor what comes after a goal that ends episodes."""
    suite = load_suite(name)
    domain = next(iter(suite.domains))
    split = suite.domains[domain].splits[0]
    budget, stops = suite.budget(domain, '', split), suite.stops_at_goal(domain, '')
    folder = data(name) / domain / split
    run(RunSettings(suite=name, domain=domain, method='oracle', problems=str(folder),
                    out=str(tmp_path / 'run')))
    line = RunStore(tmp_path / 'run').lines()[0]
    right, path = line['answer'], tmp_path / 'predictions.jsonl'
    problems = suite.problems(data(name))
    own, problem = problems[f'{domain}/{split}/{line["problem"]}']
    idle = [str(action) for action in own.model(problem).actions
            if not own.model(problem).applicable(action, problem.init)][:1] * budget

    def solved(answer: list[str], **more: Any) -> float:
        path.write_text(json.dumps({'id': f'{domain}/{split}/{line["problem"]}',
                                    'answer': answer, **more}))
        code, found, err = command(capsys, name, 'score', '--data', data(name),
                                   '--predictions', path)
        assert code == 0, err
        assert found['measures']['steps']['value'] <= more.get('max_actions', budget)
        return float(found['measures']['solved']['value'])
    assert solved([*idle[:budget - len(right)], *right]) == 1.0
    assert solved([*idle, *right]) == 0.0
    assert solved([*idle, *right], max_actions=2 * budget) == 1.0
    assert solved(right, max_actions=len(right) - 1) == 0.0
    model = own.model(problem)
    end = functools.reduce(lambda state, text: model.apply(Action.parse(text), state), right,
                           problem.init)
    away = next(str(action) for action in model.actions if model.applicable(action, end)
                and not problem.goal_met(model.apply(action, end)))
    assert solved([*right, away]) == float(stops)
    assert solved([*right, away], stop_at_goal=True) == 1.0
    assert solved([*right, away], stop_at_goal=False) == 0.0


@every_episodes_suite
def test_no_measure_of_episodes_rewards_actions_that_know_nothing(
        name: str, data: Callable[[str], Path], tmp_path: Path, capsys: Any) -> None:
    """No action, every one there is, one of them often, and texts that are none."""
    suite = load_suite(name)
    problems = suite.problems(data(name))
    every = {key: [str(action) for action in domain.model(problem).actions]
             for key, (domain, problem) in problems.items()}
    path = tmp_path / 'predictions.jsonl'
    for said in ({key: [] for key in every}, every,
                    {key: actions[:1] * 500 for key, actions in every.items()},
                    {key: ['NaN'] for key in every}, dict.fromkeys(every)):
        path.write_text(''.join(json.dumps({'id': key, 'answer': answer}) + '\n'
                                for key, answer in said.items()))
        code, found, err = command(capsys, name, 'score', '--data', data(name),
                                   '--predictions', path)
        assert code == 0, err
        for measure in suite.measures(EPISODES):
            value = found['measures'][measure.name]['value']
            assert value is None or math.isfinite(value), measure.name
            if measure.kind == 'fraction' and measure.higher_is_better:
                assert value in (None, 0.0), (measure.name, value)


@every_episodes_suite
@pytest.mark.parametrize('method', ['blind', 'random'])
def test_episodes_of_methods_without_eyes_run(name: str, method: str,
                                              data: Callable[[str], Path], tmp_path: Path) -> None:
    domain = next(iter(load_suite(name).domains))
    folder = sorted(path for path in (data(name) / domain).iterdir() if path.is_dir())[0]
    summary = run(RunSettings(suite=name, domain=domain, method=method, problems=str(folder),
                              max_actions=5, goal='told', out=str(tmp_path / 'run')))
    assert summary['errors'] == 0 and summary['items'] == summary['episodes'] > 0


@every_episodes_suite
@fuzzed
def test_answers_without_an_action_never_solve(
        name: str, count: int, data: Callable[[str], Path]) -> None:
    from sightplan.runs.predictions import carry_out
    problems = list(load_suite(name).problems(data(name)).values())
    rng = random.Random(2)
    for number in range(count):
        domain, problem = problems[number % len(problems)]
        found = carry_out(domain, problem, rng.choices(INVALID, k=rng.randint(0, 3)))
        assert found['unread'] and not found['solved'] and found['steps'] == 0
