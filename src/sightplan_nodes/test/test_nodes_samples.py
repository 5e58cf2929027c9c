"""A suite of samples on ROS: the same method as in process, with the model of the grounder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rclpy.node import Node
from sightplan_interfaces.action import RunExperiment

from nodes_testing import eventually, parameters, spinning
from sightplan.graphs.graph import load_graph
from sightplan.model import CancelledError, InputError, Usage
from sightplan.model.query import Deadline, ModelByKind, Query, Traits, answers
from sightplan.queries import Answer, Generate, TextReply, YesNo
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run, sample_work
from sightplan.runs.work import Silent
from sightplan_nodes import backend_node, names
from sightplan_nodes.calls import ActionCaller
from sightplan_nodes.experiment import ExperimentNode, Outcome
from sightplan_nodes.grounder import GrounderNode
from sightplan_suites.predicates import samples as predicates

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('predicates') / 'data'
    predicates.generate(folder, 1, 3)
    return folder


def walk(data: Path, out: Path, backend: str, method: str = 'ask', cancelled: bool = False,
         **options: Any) -> Outcome:
    """A run of all samples by the node experiment, beside a grounder alone."""
    grounder = GrounderNode(parameter_overrides=parameters(
        backend=backend, backend_options=json.dumps(options)))
    experiment = ExperimentNode(parameter_overrides=parameters(
        autostart=False, suite_options=f'data={data}'))
    if cancelled:
        experiment._stop.set()
    with spinning(grounder, experiment):
        return experiment.walk(
            RunSettings(suite='predicates', method=method, out=str(out)), Silent())


def lines(out: Path) -> list[dict[str, Any]]:
    """Lines of results, without times and costs."""
    return [{key: value for key, value in line.items() if key not in ('seconds', 'usage')}
            for line in RunStore(out).lines()]


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    """Settings of a scripted model."""
    file = tmp_path / 'script.json'
    file.write_text(json.dumps({'answers': {
        'Is the door_1 open?': 'Perhaps.', 'default': {'text': 'Yes', 'p_yes': 0.75}}}))
    return {'script': str(file)}


def test_on_ros_as_in_process(data: Path, tmp_path: Path, options: dict[str, str]) -> None:
    outcome = walk(data, tmp_path / 'ros', 'scripted', **options)
    assert outcome.error is None
    here = run(RunSettings(suite='predicates', method='ask', out=str(tmp_path / 'here'),
                           backend='scripted', backend_options=options,
                           suite_options={'data': str(data)}))
    assert lines(tmp_path / 'ros') == lines(tmp_path / 'here') != []
    assert outcome.summary['model'] == here['model']
    assert outcome.summary['planned'] == here['planned'] == len(lines(tmp_path / 'ros'))


def test_a_method_that_needs_no_model_waits_for_none(data: Path, tmp_path: Path) -> None:
    experiment = ExperimentNode(parameter_overrides=parameters(
        autostart=False, suite_options=f'data={data}', startup_timeout_s=0.5))
    with spinning(experiment):
        outcome = experiment.walk(RunSettings(suite='predicates', method='random',
                                              out=str(tmp_path)), Silent())
    assert outcome.error is None and lines(tmp_path)


def test_a_run_that_is_cancelled_is_taken_up_again(data: Path, tmp_path: Path,
                                                   options: dict[str, str]) -> None:
    out = tmp_path / 'out'
    with pytest.raises(CancelledError):
        walk(data, out, 'scripted', cancelled=True, **options)
    assert walk(data, out, 'scripted', **options).error is None
    assert lines(out)


def test_a_model_that_replies_from_the_truth_of_a_world_is_refused(data: Path,
                                                                   tmp_path: Path) -> None:
    with pytest.raises(InputError, match='samples have none'):
        walk(data, tmp_path, 'noisy_reader')


SUITE = '''
from sightplan.runs import Sample, Samples, Scored, Suite


class Words(Suite):
    name, title, splits = 'words', 'Words', ('few',)

    def samples(self, split, options):
        return Samples.of([(Sample(word, split, word, (f'Say {word}.',)), word)
                           for word in ('one', 'two')])

    def score(self, sample, answer, truth, reply):
        return Scored({'score': float(answer == truth)})


suite = Words()
'''


@pytest.fixture
def words(tmp_path: Path) -> str:
    """A suite whose samples ask for text, of which the backend ``embedded`` writes none."""
    (tmp_path / 'words.py').write_text(SUITE)
    return str(tmp_path / 'words.py')


def script(folder: Path, answers: dict[str, Any]) -> str:
    """Options of a scripted model."""
    (folder / 'words.json').write_text(json.dumps({'answers': answers}))
    return json.dumps({'script': str(folder / 'words.json')})


@contextlib.contextmanager
def started(words: str, out: Path, options: str, **more: Any) -> Iterator[ExperimentNode]:
    """The experiment node with a grounder, as both are started by a graph."""
    grounder = GrounderNode(parameter_overrides=parameters(
        backend='scripted', backend_options=options))
    experiment = ExperimentNode(parameter_overrides=parameters(
        suite=words, split='few', method='ask', out=str(out), **more))
    with spinning(grounder, experiment):
        yield experiment


def test_samples_that_ask_for_text_are_put_to_the_model_of_the_graph(words: str, tmp_path: Path,
                                                                     ) -> None:
    options = script(tmp_path, {'Say one.': 'one', 'Say two.': 'two'})
    with started(words, tmp_path / 'run', options) as node:
        eventually(lambda: node.exit_code is not None, 'the end')
        assert node.exit_code == 0
    assert [line['reply'] for line in lines(tmp_path / 'run')] == ['one', 'two']


def test_what_the_grounder_recorded_is_replayed_also_of_samples_of_one_picture_apart(
        tmp_path: Path) -> None:
    file = tmp_path / 'words.py'
    file.write_text(SUITE.replace('Sample(word, split, word, ', 'Sample(word, split, word[-1:], ')
                    .replace("('one', 'two')", "('one', 'two', 'three')"))
    said, out = tmp_path / 'said', tmp_path / 'run'
    options = script(tmp_path, {f'Say {word}.': word for word in ('one', 'two', 'three')})
    grounder = GrounderNode(parameter_overrides=parameters(
        backend='scripted', backend_options=options, record=str(said)))
    experiment = ExperimentNode(parameter_overrides=parameters(autostart=False))
    settings = RunSettings(suite=str(file), split='few', method='ask', out=str(out))
    with spinning(grounder, experiment):
        assert experiment.walk(settings, Silent()).error is None
    again = run(replace(settings, out=str(tmp_path / 'again'), backend='replay',
                        backend_options={'path': str(said)}))
    assert again['errors'] == 0
    assert {line['id']: line['reply'] for line in lines(tmp_path / 'again')} == {
        word: word for word in ('one', 'two', 'three')}


def test_a_sample_in_error_is_exit_code_1(words: str, tmp_path: Path, capsys) -> None:
    with started(words, tmp_path / 'run', script(tmp_path, {'Say one.': 'one'})) as node:
        eventually(lambda: node.exit_code is not None, 'the end')
        assert node.exit_code == 1
    assert '1 of 2 samples ended in an error' in capsys.readouterr().err


class Whole(ModelByKind):
    """A model that lets a part of it write."""

    name, usage = 'whole@1', None

    @answers(Generate)
    def write(self, query: Generate, deadline: Deadline) -> TextReply:
        return TextReply('one', model='part@1')

    def part_name(self, kind: type[Query[Any]]) -> str:
        return 'part@1'


def test_a_line_names_the_part_of_the_model_that_replied(
        words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = script(tmp_path, {})
    monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: Whole())
    with started(words, tmp_path / 'run', options) as node:
        eventually(lambda: node.exit_code is not None, 'the end')
    here = run(RunSettings(suite=words, split='few', method='ask', out=str(tmp_path / 'here'),
                           backend='scripted'), backend=Whole())
    assert [line['model'] for line in lines(tmp_path / 'run')] == ['part@1'] * 2
    assert lines(tmp_path / 'run') == lines(tmp_path / 'here') and here['model'] == 'part@1'


def test_a_goal_of_samples_counts_them(words: str, tmp_path: Path) -> None:
    options = script(tmp_path, {'Say one.': 'one', 'Say two.': 'two'})
    client = Node('client')
    call = ActionCaller(client, RunExperiment, 'experiment/run_experiment', names.EXPERIMENT)
    with started(words, tmp_path / 'run', options, autostart=False), spinning(client):
        result = call(RunExperiment.Goal(suite=words, split='few', method='ask'), 30.0)
    assert (result.error_msg, result.episodes, result.errors) == ('', 2, 0)


def test_a_graph_starts_the_grounder_for_a_method_of_samples_and_no_planner() -> None:
    graph = load_graph(ROOT / 'config' / 'graphs' / 'experiment.yaml')
    wanted = {spec.name for spec in graph.nodes if spec.only_for and spec.wanted_by('ask')}
    assert wanted == {'grounder'}


class OfDomain(ModelByKind):
    """A model of one domain, which names itself in its replies."""

    usage = Usage()

    def __init__(self, domain: str) -> None:
        self.begun: list[str] = []
        self.domain, self.name = domain, f'model of {domain}'
        self.traits = Traits(prompt=False, domain=domain)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        self.begun.append(episode_id)

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.usage = self.usage + Usage(len(queries))
        said = 'Yes' if self.domain == 'blocksworld' else 'No'
        return [Answer(said, 0.75, 0.25)] * len(queries)


@pytest.mark.parametrize('fixed', ['', 'domain=blocksworld'])
def test_each_sample_is_put_to_the_model_of_its_domain(
        data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixed: str) -> None:
    made: list[OfDomain] = []

    def make(name: str, options: dict[str, Any], *truth: object) -> OfDomain:
        made.append(OfDomain(options['domain']))
        return made[-1]
    for module in (backend_node, sample_work):
        monkeypatch.setattr(module, 'make_backend', make)
    grounder = GrounderNode(parameter_overrides=parameters(
        backend='embedded', backend_options=fixed, domain='blocksworld'))
    experiment = ExperimentNode(parameter_overrides=parameters(
        autostart=False, suite_options=f'data={data}'))
    settings = RunSettings(suite='predicates', method='ask', out=str(tmp_path / 'ros'))
    with spinning(grounder, experiment):
        if fixed:  # that model alone, which refuses questions of other domains by name
            with pytest.raises(InputError, match='model of blocksworld was made for'):
                experiment.walk(settings, Silent())
            return
        outcome = experiment.walk(settings, Silent())
    assert sorted(model.domain for model in made) == ['blocksworld', 'household']
    for model in made:
        assert model.begun and all(f'/{model.domain}/' in one for one in model.begun)
    here = run(replace(settings, out=str(tmp_path / 'here'), suite_options={'data': str(data)}))
    assert lines(tmp_path / 'ros') == lines(tmp_path / 'here') != []
    assert {line['model'] for line in lines(tmp_path / 'ros')} == {
        'model of blocksworld', 'model of household'}
    assert outcome.summary['model'] == here['model']
    assert (RunStore(tmp_path / 'ros').run_info()['identity']
            == RunStore(tmp_path / 'here').run_info()['identity'])
    assert sum((line['usage'] or {'requests': 0})['requests'] for line in RunStore(
        tmp_path / 'ros').lines()) == len(lines(tmp_path / 'ros'))
