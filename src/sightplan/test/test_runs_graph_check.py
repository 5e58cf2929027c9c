"""Arguments of a graph with which its model would see nothing are refused before a node starts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sightplan.cli import main
from sightplan.domains import load_domain
from sightplan.graphs.graph import load_graph
from sightplan.graphs.up import GraphEnd
from sightplan.model import InputError
from sightplan.model.ports import shown_by
from sightplan.runs.graph_check import check_graph_arguments, hint_of, with_protocol
from sightplan.runs.worlds import make_world, shown_with

GRAPH = Path(__file__).parents[3] / 'config' / 'graphs' / 'experiment.yaml'
TABLETOP = ('domain:=tabletop', 'split:=short')
SLIDING = ('domain:=sliding', 'split:=geoms', 'method:=plan')


@pytest.mark.parametrize(('arguments', 'said'), [
    (TABLETOP, r"backend 'embedded' looks at pictures, .* \(world option execution=symbolic\)"),
    ((*SLIDING, 'world_options:=pictures=none', 'method:=ground'), 'world option pictures=none'),
    ((*SLIDING, 'world_options:={"view": "text"}', 'method:=ground'),
     'cannot answer yes/no questions about a description.*view=text')])
def test_a_model_that_would_see_nothing_is_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_graph_arguments(load_graph(GRAPH).values(arguments))


@pytest.mark.parametrize(('arguments', 'said'), [
    (('prompts:=/nowhere',), 'prompts: /nowhere: no such folder'),
    (('prompts:=/nowhere', 'world:=arm_bridge', 'method:=oracle'), '/nowhere: no such folder'),
    (('problems:=/nowhere',), '/nowhere: '),
    (('domain_file:=/nowhere.pddl',), '/nowhere.pddl:1: cannot be read'),
    (('split:=simpel',), "split 'simpel' is unknown in domain blocksworld.*did you mean 'simple'"),
    (('out:=/proc/nowhere',), 'out:=/proc/nowhere cannot be made'),
    (('backend_options:=foo=1',), "backend_options: there is no setting 'foo'"),
    (('method:=belief', 'method_options:=accept=7'), 'accept = 7.0 is out of bounds'),
    (('method:=ground', 'backend:=noisy_locator'), 'answers no yes/no questions; choose one'),
    (('method:=plan', 'backend:=noisy_oracle'), "'noisy_oracle' .*; choose one that can: "),
    ((*TABLETOP, 'execution:=arm', 'method:=grounded_plan', 'backend:=noisy_oracle'),
     "'noisy_oracle' cannot find all things"),
    (('execution:=arm', 'robot:=nobot'), "robot 'nobot' is unknown; choose one of panda")])
def test_what_is_not_there_is_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_graph_arguments(load_graph(GRAPH).values(arguments))


@pytest.mark.parametrize('arguments', [
    ('method:=plan',), (*TABLETOP, 'execution:=arm', 'method:=grounded_plan')])
def test_a_model_behind_a_server_of_ours_is_asked_what_it_answers(
        arguments: tuple[str, ...]) -> None:
    behind = ('backend:=decisions', 'backend_options:=wire=sightplan')
    check_graph_arguments(load_graph(GRAPH).values((*arguments, *behind)))


@pytest.mark.parametrize(('arm', 'simulated'), [
    (('execution:=arm',), ()), (('world:=arm_bridge',), ('hardware:=simulated',))])
def test_problems_without_room_before_the_robot_are_refused(
        tmp_path: Path, arm: tuple[str, ...], simulated: tuple[str, ...]) -> None:
    folder = tmp_path / 'wide'
    folder.mkdir()
    file = folder / 'wide.pddl'
    file.write_text(
        '(define (problem wide) (:domain blocksworld)\n'
        '  (:objects r g - block c1 c2 c3 c4 c5 c6 - column) (:init) (:goal (on r g)))\n')
    said = ('problem wide: 6 columns and 2 blocks.*room for 5 columns.*or copy .*panda.yaml to '
            'my_panda.yaml, raise table.max_columns .*give robot:=my_panda.yaml')
    experiment, do = load_graph(GRAPH), load_graph(GRAPH.with_name('do.yaml'))
    with pytest.raises(InputError, match=said):
        check_graph_arguments(experiment.values((f'problems:={folder}', *arm)))
    with pytest.raises(InputError, match=said):
        check_graph_arguments(do.values((f'problem:={file}', *arm, *simulated)))
    robot = tmp_path / 'robot.yaml'
    robot.write_text((GRAPH.parents[1] / 'robots' / 'panda.yaml').read_text())
    with pytest.raises(InputError, match=f'or raise table.max_columns .* in {robot}'):
        check_graph_arguments(do.values((f'problem:={file}', *arm, *simulated,
                                         f'robot:={robot}')))
    check_graph_arguments(do.values((f'problem:={file}',)))


@pytest.mark.parametrize('arguments', [
    (), (*TABLETOP, 'execution:=arm'), (*TABLETOP, 'backend:=noisy_oracle'),
    (*TABLETOP, 'method:=oracle'), (*TABLETOP, 'world:=arm_bridge'),
    ('suite:=grounded_plan', 'split:=short', 'method:=grounded_plan', 'domain:=tabletop'),
    (*SLIDING, 'method:=ground')])
def test_others_are_not(arguments: tuple[str, ...]) -> None:
    check_graph_arguments(load_graph(GRAPH).values(arguments))


def test_a_domain_without_the_usual_split_has_its_first_one() -> None:
    graph = load_graph(GRAPH)
    assert with_protocol(graph.values(['domain:=sliding']), ['domain'])['split'] == 'geoms'
    assert with_protocol(graph.values(['domain:=household']), ['domain'])['split'] == 'simple'
    named = graph.values(['domain:=sliding', 'split:=simple'])
    with pytest.raises(InputError, match='unknown in domain sliding .choose one of geoms, tiles'):
        check_graph_arguments(with_protocol(named, ['domain', 'split']))


def test_every_node_gets_what_the_protocol_sets() -> None:
    graph = load_graph(GRAPH)
    given = graph.values(('protocol:=paper', 'domain:=household', 'planner_search:=lama-first',
                          'world_options:=pictures=none,width=500'))
    found = with_protocol(given)
    assert found['answers'] == 'prefix'
    assert json.loads(str(found['method_options']))['on_unparsed'] == 'stop'
    world = json.loads(str(found['world_options']))
    assert (world['pictures'], world['width'], world['navigation']) == ('none', 500, 'reference')
    assert with_protocol(found) == found
    assert found.keys() == given.keys() and found['method'] == given['method']


def test_without_a_protocol_the_arguments_are_as_they_were() -> None:
    for name in ('experiment', 'replay'):
        given = load_graph(GRAPH.with_name(f'{name}.yaml')).values(())
        assert with_protocol(given) == given


def test_an_argument_that_contradicts_the_protocol_ends_the_command(
        capsys: pytest.CaptureFixture[str]) -> None:
    for argument, said in (
            ('world_options:=navigation=pddl', "world_options.navigation = 'pddl'"),
            ('answers:=strict', "answers = 'strict'")):  # also where it is the default
        assert main(['up', str(GRAPH), 'protocol:=paper', 'domain:=household', argument]) == 2
        assert f"{said} contradicts protocol 'paper'" in capsys.readouterr().err


@pytest.mark.parametrize(('domain', 'options'), [
    ('sliding', {}), ('sliding', {'view': 'text'}), ('sliding', {'pictures': 'none'}),
    ('tabletop', {})])
def test_what_a_world_shows_is_known_before_it_is_made(domain: str, options: dict[str, str],
                                                       ) -> None:
    assert shown_with(domain, options) == shown_by(make_world(domain, options))


def test_the_command_refuses_them_and_starts_nothing(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr('sightplan.commands.up.run_graph', lambda *_, **__: pytest.fail('started'))
    assert main(['up', str(GRAPH), *TABLETOP]) == 2
    assert 'such as noisy_oracle' in capsys.readouterr().err


def test_a_graph_that_asks_no_model_needs_none() -> None:
    check_graph_arguments({'backend': '', 'backend_options': ''})


def world(graph: str, *arguments: str) -> tuple[dict[str, object], str]:
    """The checked values of a graph's arguments, and its hint."""
    found = load_graph(GRAPH.with_name(f'{graph}.yaml'))
    values = with_protocol(found.values(arguments), [one.partition(':=')[0] for one in arguments])
    check_graph_arguments(values)
    return values, hint_of(found.hint, found.chosen(values).namespace, values)


@pytest.mark.parametrize(('arguments', 'problem', 'command'), [
    (('do',), 'simple/problem_00', 'sightplan do --goal "(on g p)"'),
    (('do', 'domain:=household', 'namespace:=robot1'), 'simple/cleaning_out_drawers_0',
     'sightplan do --namespace robot1 --goal "(ontop bowl_1 sink_1)"'),
    (('do', 'domain:=tabletop', 'execution:=arm'), 'short/short_0',
     'sightplan do "Please set the two apples down in the orange-coloured bowl."'),
    (('do', 'world:=arm_bridge', 'hardware:=simulated'), 'simple/problem_00',
     ('sightplan do --goal "(on g p)" --domain blocksworld --objects g:block,b:block,p:block,'
      'c1:column,c2:column,c3:column,c4:column')),
    (('do', 'world:=arm_bridge'), 'simple/problem_00',
     'sightplan do --goal "(PREDICATE OBJECT ...)" --domain blocksworld --objects NAME:TYPE,...'),
    (('grasp', 'namespace:=a/b'), 'simple/problem_00',
     'sightplan arm grasp --namespace a/b "the green block"'),
    (('grasp', 'domain:=tabletop'), 'short/short_0', 'sightplan arm grasp "the apple"')])
def test_a_graph_without_episodes_begins_with_a_problem_of_its_domain_and_says_what_to_try(
        arguments: tuple[str, ...], problem: str, command: str) -> None:
    values, hint = world(*arguments)
    assert values['problem'] == problem
    assert hint.endswith(f': {command}')


@pytest.mark.parametrize(('arguments', 'said'), [
    (('do', 'problem:=simple/problem_99'), 'problem:=simple/problem_99: .*no such problem'),
    (('do', 'domain:=sliding', 'problem:=simple/problem_00'), 'list --domain sliding'),
    (('grasp', 'problem:=/nowhere.pddl'), 'problem:=/nowhere.pddl: .*no such file'),
    (('do', 'domain:=tabletop'), 'draws none .world option execution=symbolic.'),
    (('replay', 'bag:='), 'bag:=.*no bag is given'),
    (('replay', 'bag:=/nowhere'), '/nowhere: there is no such bag')])
def test_problems_and_bags_that_are_not_there_are_refused(arguments: tuple[str, ...],
                                                                said: str) -> None:
    with pytest.raises(InputError, match=said):
        world(*arguments)


def test_arguments_of_graphs_of_others_may_have_such_names() -> None:
    for values in ({'problem': 'warehouse'}, {'bag': ''}, {'bag': False, 'domain': 'mine'},
                   {'problem': '', 'domain': 'mine'}):
        assert with_protocol(values) == values
        check_graph_arguments(values)


def test_nodes_that_are_started_alone_need_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The world is on another machine, which has the file."""
    hints: list[str] = []

    def run(*arguments: object, hint: str, **others: object) -> GraphEnd:
        hints.append(hint)
        return GraphEnd(0, '', '', 1)
    monkeypatch.setattr('sightplan.commands.up.run_graph', run)
    assert main(['up', str(GRAPH.with_name('do.yaml')), '--only', 'grounder',
                 'problem:=/robot/table.pddl']) == 0
    assert hints == ['']


def test_a_goal_about_no_object_names_none_to_grasp(tmp_path: Path) -> None:
    file = tmp_path / 'done.pddl'
    text = Path(load_domain('blocksworld').split_problems('simple')[0].source).read_text()
    file.write_text(re.sub(r'\(:goal.*', '(:goal (and)))', text, flags=re.DOTALL))
    assert world('grasp', f'problem:={file}')[1].endswith('"the red block"')
