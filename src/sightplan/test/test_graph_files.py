"""Graph files: arguments, nodes, and errors that name file and field."""

from pathlib import Path

import pytest

from sightplan.agent import every_method, method_names, needs_model, needs_planner
from sightplan.domains import domain_names
from sightplan.graphs.graph import load_graph
from sightplan.model import InputError
from sightplan.runs import suite_names
from sightplan.vlm import backend_names

SHIPPED = Path(__file__).resolve().parents[3] / 'config' / 'graphs' / 'experiment.yaml'
GOOD = """
description: Two nodes.
arguments:
  - {name: speed, type: float, default: 1.0, description: How fast}
  - {name: method, type: str, default: idle, description: How, choices_of: methods}
  - {name: loud, type: bool, default: false, description: Whether it shouts}
  - {name: world, type: str, default: sim, description: Which, choices: [sim, real]}
  - {name: side, type: str, default: left, description: Where}
  - {name: show, type: str, default: '', description: Where it is shown}
nodes:
  - {package: p, executable: e, name: n, parameters: {rate: $(var speed), text: 'at $(var speed)'}}
  - {package: p, executable: g, name: asked, only_for: needs_grounder}
  - {package: p, executable: v, name: planning, only_for: needs_visual_planner}
  - {package: p, executable: s, name: sound, only_if: $(var loud)}
  - {package: p, executable: w, name: watcher, only_if: $(var show)}
  - {package: p, executable: a, name: arm, only_if: $(var world) == real, namespace: left/arm}
  - {package: p, executable: b, name: both, only_if: {world: real, side: left}}
  - {package: p, executable: f, name: m, ends_graph: true}
"""


def graph(tmp_path, text=GOOD):
    path = tmp_path / 'small.yaml'
    path.write_text(text)
    return load_graph(path)


def test_values_keep_their_types(tmp_path):
    small = graph(tmp_path)
    values = small.values(['speed:=2', 'loud:=yes'])
    assert values == {'speed': 2.0, 'method': 'idle', 'loud': True, 'world': 'sim',
                      'side': 'left', 'show': '', 'namespace': '', 'remap': ''}
    assert small.nodes[0].resolved(values) == {'rate': 2.0, 'text': 'at 2.0'}
    assert [node.ends_graph for node in small.nodes] == [False] * 7 + [True]


@pytest.mark.parametrize(('method', 'nodes'), [
    ('idle', 'n m'), ('ground', 'n asked m'), ('plan_cot', 'n planning m')])
def test_nodes_that_the_method_does_not_need_are_left_out(tmp_path, method, nodes):
    small = graph(tmp_path)
    chosen = small.chosen(small.values([f'method:={method}']))
    assert [node.name for node in chosen.nodes] == nodes.split()
    assert len(small.nodes) == 8, 'the graph itself is as it was'


@pytest.mark.parametrize(('given', 'nodes'), [
    ([], 'n m'), (['loud:=false'], 'n m'), (['loud:=true'], 'n sound m'),
    (['show:=it.rrd'], 'n watcher m'), (['show:=', 'loud:=on'], 'n sound m'),
    (['world:=real'], 'n arm both m'), (['world:=real', 'side:=right'], 'n arm m')])
def test_nodes_that_nobody_asked_for_are_left_out(tmp_path, given, nodes):
    small = graph(tmp_path)
    assert [node.name for node in small.chosen(small.values(given)).nodes] == nodes.split()


def test_single_nodes_can_be_chosen_whatever_the_method_needs(tmp_path):
    small = graph(tmp_path)
    assert [node.name for node in small.only(['asked', 'n'], {}).nodes] == ['n', 'asked']
    with pytest.raises(InputError, match=r"no node 'aksed'.*did you mean 'asked'\?"):
        small.only(['n', 'aksed'], {})


def test_no_model_is_started_twice():
    """Whatever the method, at most one node of the experiment loads the model."""
    experiment = load_graph(SHIPPED)
    for method in method_names():
        values = {**experiment.values([]), 'method': method}
        nodes = {node.name for node in experiment.chosen(values).nodes}
        assert 'rerun_viewer' not in nodes
        assert len(nodes & {'grounder', 'vlm_planner'}) == needs_model(method), method
        assert ('symbolic_planner' in nodes) == needs_planner(method), method
        assert {'sim_bridge', 'agent', 'metrics_recorder', 'experiment'} <= nodes


def test_a_method_that_only_answers_samples_gets_a_model_and_no_planner():
    nodes = {method: {spec.name for spec in load_graph(SHIPPED).nodes
                      if spec.only_for and spec.wanted_by(method)} for method in ('ask', 'votes')}
    assert nodes == {'ask': {'grounder'}, 'votes': {'grounder'}}


def test_what_is_installed_can_be_chosen():
    choices = {a.name: a.allowed for a in load_graph(SHIPPED).arguments}
    assert choices['domain'] == domain_names()
    assert choices['method'] == tuple(every_method())
    assert choices['backend'] == backend_names()
    assert choices['suite'] == suite_names()


def test_a_suite_is_given_by_name_or_folder(tmp_path, monkeypatch):
    experiment = load_graph(SHIPPED)
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'suite.yaml').touch()
    monkeypatch.chdir(tmp_path)
    for given, expected in (('viplan', 'viplan'), ('', ''), ('./mine', str(tmp_path / 'mine'))):
        assert experiment.values([f'suite:={given}'])['suite'] == expected
    for given, words in (('viplam', "did you mean 'viplan'"), ('./none', 'suite.yaml is missing')):
        with pytest.raises(InputError, match=words):
            experiment.values([f'suite:={given}'])


@pytest.mark.parametrize(('argument', 'words'), [
    ('sped:=2', "did you mean 'speed'"), ('speed=2', 'did you mean speed:=2'),
    ('speed:=fast', 'must be a number'), ('method:=idel', "did you mean 'idle'"),
    ('loud:=maybe', 'must be true or false')])
def test_wrong_arguments_are_named(tmp_path, argument, words):
    with pytest.raises(InputError) as caught:
        graph(tmp_path).values([argument])
    assert words in str(caught.value)


@pytest.mark.parametrize(('old', 'new', 'words'), [
    ('nodes:', 'knots:', 'nodes is missing'), ('type: float', 'type: real', "type = 'real'"),
    ('default: 1.0', 'default: quick', 'default of argument speed'),
    ('$(var speed),', '$(var haste),', 'haste'), ('executable: e', 'file: e', 'file'),
    ('choices_of: methods', 'choices_of: colours', 'choices_of'),
    ('only_for: needs_grounder', 'only_for: needs_coffee', 'needs_coffee'),
    ('name: method,', 'name: how,', 'only_for'),
    ('$(var loud)', 'loud', 'form $(var ARGUMENT)'),
    ('== real', 'is real', 'form $(var ARGUMENT)'), ('== real', '== unreal', 'it never is'),
    ('$(var world) ==', '$(var whirl) ==', 'no such argument'),
    ('$(var world) ==', '$(var loud) ==', 'of type str'),
    ('side: left', 'side: 1', 'form $(var ARGUMENT)'), ('{world: real', '{word: real', 'word'),
    ('left/arm', 'Left arm', 'namespace'),
    ('$(var loud)', '$(var speed)', 'str or bool'),
    ('$(var loud)', '$(var noise)', 'no such argument'),
    ('name: asked,', 'name: asked, only_if: $(var loud),', 'does not go with only_for'),
    ('description: Two', '[', 'read')])
def test_malformed_files_are_named(tmp_path, old, new, words):
    with pytest.raises(InputError) as caught:
        graph(tmp_path, GOOD.replace(old, new, 1))
    assert 'small.yaml' in str(caught.value)
    assert words in str(caught.value)
