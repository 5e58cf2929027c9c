"""The domain household: what its actions do, its words, and files of others in its vocabulary."""

from __future__ import annotations

import shutil

import pytest
import yaml

from doubles import AUTHORS_HOME
from sightplan.domains import Domain, load_domain, read_folder
from sightplan.model import Action, Atom, DomainError, ProblemError
from sightplan_suites.viplan.episodes import check

DOMAIN = load_domain('household')
PROBLEM = DOMAIN.parse_problem("""
(define (problem kitchen) (:domain household)
  (:objects apple_1 bowl_1 plate_1 - movable
            fridge_1 carton_1 door_1 - container
            table_1 sink_1 - object)
  (:init (inside apple_1 fridge_1) (ontop bowl_1 plate_1) (ontop plate_1 table_1)
         (nextto plate_1 carton_1) (open carton_1))
  (:goal (ontop apple_1 table_1)))""", 'kitchen')
MODEL = DOMAIN.model(PROBLEM)


def after(*texts: str, init=PROBLEM.init):
    """The state after actions, each of which must be applicable."""
    state = init
    for text in texts:
        state = MODEL.apply(Action.parse(text), state)
    return state


def facts(state, predicate: str) -> set[tuple[str, ...]]:
    return {atom.args for atom in state if atom.predicate == predicate}


def can(text: str, state) -> bool:
    return MODEL.applicable(Action.parse(text), state)


def test_the_vocabulary_is_the_papers():
    assert {p.name: p.types for p in DOMAIN.schema.predicates.values()} == {
        'reachable': ('object',), 'holding': ('movable',), 'open': ('container',),
        'ontop': ('object', 'object'), 'nextto': ('object', 'object'),
        'inside': ('object', 'container')}
    assert {a.name: tuple(p.type for p in a.parameters)
            for a in DOMAIN.schema.actions.values()} == {
        'grasp': ('movable',), 'place-on': ('movable', 'object'),
        'place-next-to': ('movable', 'object'), 'place-inside': ('movable', 'container'),
        'open-container': ('container',), 'close-container': ('container',),
        'navigate-to': ('object',)}
    assert DOMAIN.schema.types == {'container': 'object', 'movable': 'object'}
    assert DOMAIN.views == ('navigate-to',) and DOMAIN.instances


def test_nothing_is_in_reach_at_first_and_only_what_was_gone_to_later():
    assert not any(can(str(action), PROBLEM.init) for action in MODEL.actions
                   if action.name != 'navigate-to')
    assert facts(after('navigate-to(plate_1)'), 'reachable') == {('plate_1',)}
    assert facts(after('navigate-to(plate_1)', 'navigate-to(sink_1)'), 'reachable') == {
        ('sink_1',)}


def test_one_cannot_go_where_one_is_nor_to_what_is_hidden():
    assert not can('navigate-to(table_1)', after('navigate-to(table_1)'))
    assert not can('navigate-to(apple_1)', PROBLEM.init)
    opened = after('navigate-to(fridge_1)', 'open-container(fridge_1)', 'navigate-to(sink_1)')
    assert facts(after('navigate-to(apple_1)', init=opened), 'reachable') == {('apple_1',)}


def test_opening_brings_what_is_inside_into_reach_and_closing_takes_it_away():
    there = after('navigate-to(fridge_1)')
    assert facts(there, 'reachable') == {('fridge_1',)}
    opened = after('open-container(fridge_1)', init=there)
    assert facts(opened, 'reachable') == {('fridge_1',), ('apple_1',)}
    assert facts(opened, 'open') == {('carton_1',), ('fridge_1',)}
    assert not can('open-container(fridge_1)', opened)
    assert after('close-container(fridge_1)', init=opened) == there
    assert not can('close-container(fridge_1)', there)


def test_going_to_an_open_container_brings_what_is_inside_into_reach():
    left = after('navigate-to(fridge_1)', 'open-container(fridge_1)', 'navigate-to(sink_1)')
    assert facts(after('navigate-to(fridge_1)', init=left), 'reachable') == {
        ('fridge_1',), ('apple_1',)}
    closed = after('navigate-to(fridge_1)', 'close-container(fridge_1)', 'navigate-to(sink_1)',
                   'navigate-to(fridge_1)', init=left)
    assert facts(closed, 'reachable') == {('fridge_1',)}


def test_what_is_taken_leaves_its_place_and_its_neighbours():
    held = after('navigate-to(plate_1)', 'grasp(plate_1)')
    assert facts(held, 'holding') == {('plate_1',)}
    assert facts(held, 'ontop') == facts(held, 'nextto') == set()
    assert facts(held, 'inside') == {('apple_1', 'fridge_1')}
    assert facts(held, 'reachable') == {('plate_1',)}
    beside = PROBLEM.init | {Atom('nextto', ('bowl_1', 'plate_1'))}
    assert facts(after('navigate-to(plate_1)', 'grasp(plate_1)', init=beside), 'nextto') == set()
    taken = after('navigate-to(fridge_1)', 'open-container(fridge_1)', 'grasp(apple_1)')
    assert facts(taken, 'inside') == set()
    assert facts(taken, 'ontop') == facts(PROBLEM.init, 'ontop')


def test_only_a_condition_that_holds_makes_an_effect():
    """Taking what is in no container says nothing about containers."""
    state = after('navigate-to(bowl_1)')
    effects = MODEL.effects(Action.parse('grasp(bowl_1)'), state)
    assert not any(atom.predicate == 'inside' for atom in effects)
    opened = after('navigate-to(fridge_1)', 'open-container(fridge_1)')
    effects = MODEL.effects(Action.parse('grasp(apple_1)'), opened)
    assert effects[Atom('inside', ('apple_1', 'fridge_1'))] is False
    assert Atom('inside', ('apple_1', 'carton_1')) not in effects


def test_one_hand_holds_one_thing_and_opens_nothing_meanwhile():
    held = after('navigate-to(bowl_1)', 'grasp(bowl_1)')
    at_plate = after('navigate-to(plate_1)', init=held)
    assert not can('grasp(plate_1)', at_plate)
    at_fridge = after('navigate-to(fridge_1)', init=held)
    assert not can('open-container(fridge_1)', at_fridge)
    at_carton = after('navigate-to(carton_1)', init=held)
    assert can('close-container(carton_1)', at_carton)  # a push will do


def test_what_is_carried_is_out_of_reach_but_can_be_put_down():
    carried = after('navigate-to(bowl_1)', 'grasp(bowl_1)', 'navigate-to(sink_1)')
    assert facts(carried, 'reachable') == {('sink_1',)}
    placed = after('place-on(bowl_1, sink_1)', init=carried)
    assert ('bowl_1', 'sink_1') in facts(placed, 'ontop')
    assert facts(placed, 'holding') == set()
    assert not can('grasp(bowl_1)', placed)  # one has to go to it


@pytest.mark.parametrize(('action', 'predicate', 'target'), [
    ('place-on', 'ontop', 'carton_1'), ('place-inside', 'inside', 'carton_1'),
    ('place-next-to', 'nextto', 'carton_1')])
def test_placing_says_where_a_thing_is_and_nothing_else(action, predicate, target):
    carried = after('navigate-to(bowl_1)', 'grasp(bowl_1)', f'navigate-to({target})')
    placed = after(f'{action}(bowl_1, {target})', init=carried)
    assert placed - carried == {Atom(predicate, ('bowl_1', target))}
    assert carried - placed == {Atom('holding', ('bowl_1',))}


def test_nothing_goes_into_what_is_closed_or_onto_itself():
    carried = after('navigate-to(bowl_1)', 'grasp(bowl_1)')
    assert not can('place-on(bowl_1, bowl_1)', carried)
    assert not can('place-next-to(bowl_1, bowl_1)', carried)
    assert not can('place-inside(bowl_1, fridge_1)', after('navigate-to(fridge_1)', init=carried))


def test_questions_name_objects_as_the_boxes_do():
    asked = {text: DOMAIN.question(Atom.parse(text)).text for text in (
        'reachable bowl_1', 'holding bowl_1', 'open fridge_1', 'ontop bowl_1,sink_1',
        'nextto bowl_1,plate_1', 'inside apple_1,fridge_1')}
    assert asked == {
        'reachable bowl_1': 'Is the bowl_1 in reach of the robot?',
        'holding bowl_1': 'Is the robot holding the bowl_1?',
        'open fridge_1': 'Is the fridge_1 open?',
        'ontop bowl_1,sink_1': 'Is the bowl_1 on top of the sink_1?',
        'nextto bowl_1,plate_1': 'Is the bowl_1 next to the plate_1?',
        'inside apple_1,fridge_1': 'Is the apple_1 inside the fridge_1?'}


def test_only_what_may_hold_is_worth_a_question():
    worth = DOMAIN.worth_asking(PROBLEM)
    assert [atom for atom in MODEL.atoms if atom in set(worth)] == list(worth)
    things, places = 3, 8  # 3 movable ones among 8 objects, of which 3 are containers
    assert len(worth) == places + things + 3 + 2 * things * (places - 1) + things * 3
    for text in ('ontop table_1,apple_1', 'ontop bowl_1,bowl_1', 'nextto fridge_1,bowl_1',
                 'nextto apple_1,apple_1', 'inside fridge_1,carton_1', 'inside table_1,fridge_1'):
        assert Atom.parse(text) in MODEL.atoms and Atom.parse(text) not in worth
    assert PROBLEM.init <= set(worth)
    blocks = load_domain('blocksworld')
    problem = blocks.split_problems('simple')[0]
    assert blocks.worth_asking(problem) == blocks.model(problem).atoms


@pytest.mark.parametrize(('change', 'message'), [
    ({'asked': ['ontop']}, "asked = .'ontop'."),
    ({'asked': {'on': {}}}, "asked: unknown name 'on' .known: reachable, holding"),
    ({'asked': {'ontop': 'movable'}}, 'asked.ontop = .movable.'),
    ({'asked': {'ontop': {'type': []}}}, 'asked.ontop.type is unknown'),
    ({'asked': {'ontop': {'types': ['movable']}}}, r'.*must narrow \[.object., .object.\]'),
    ({'asked': {'ontop': {'types': ['movable', 'shelf']}}}, '.*must narrow'),
    ({'asked': {'inside': {'types': ['object', 'object']}}}, '.*must narrow'),
    ({'asked': {'ontop': {'distinct': 'yes'}}}, "asked.ontop.distinct = 'yes'"),
    ({'instances': 'many'}, "instances = 'many'"),
    ({'more': 1}, 'more is unknown .known: splits, world'),
    ({'views': ['fly']}, "views: unknown name 'fly' .known: grasp")])
def test_what_is_wrong_with_domain_yaml_is_said(tmp_path, change, message):
    folder = tmp_path / 'household'
    shutil.copytree(DOMAIN.folder, folder, ignore=shutil.ignore_patterns('problems', '*.py'))
    path = folder / 'domain.yaml'
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **change}))
    with pytest.raises(DomainError, match='domain.yaml:1: ' + message):
        Domain(folder)


def test_goals_are_said_in_words():
    problem = {p.name: p for split in DOMAIN.splits for p in DOMAIN.split_problems(split)}
    assert DOMAIN.goal_text(problem['locking_every_door_0']) == (
        'The door_1 needs to be closed.\nThe door_2 needs to be closed.')
    assert DOMAIN.goal_text(problem['sorting_groceries_6']) == (
        'The apple_1 needs to be inside the fridge_1.\n'
        'The orange_1 needs to be next to the orange_2.\n'
        'The orange_2 needs to be on top of the table_1.')


@pytest.mark.parametrize(('goal', 'text'), [
    ('(open fridge_1)', 'The fridge_1 needs to be open.'),
    ('(not (open fridge_1))', 'The fridge_1 needs to be closed.'),
    ('(holding apple_1)', "The apple_1 needs to be in the robot's hand."),
    ('(not (holding apple_1))', "The apple_1 must not be in the robot's hand."),
    ('(reachable sink_1)', 'The sink_1 needs to be in reach of the robot.'),
    ('(not (reachable sink_1))', 'The sink_1 must not be in reach of the robot.'),
    ('(not (inside apple_1 fridge_1))', 'The apple_1 must not be inside the fridge_1.'),
    ('(not (nextto apple_1 bowl_1))', 'The apple_1 must not be next to the bowl_1.'),
    ('(and (not (ontop apple_1 table_1)) (inside apple_1 carton_1) (nextto apple_1 bowl_1))',
     ('The apple_1 must not be on top of the table_1, needs to be inside the carton_1 and needs '
      'to be next to the bowl_1.'))])
def test_every_goal_has_words(goal, text):
    given = DOMAIN.write_problem(PROBLEM)
    changed = given[:given.index('(:goal')] + f'(:goal {goal}))'
    assert DOMAIN.goal_text(DOMAIN.parse_problem(changed, 'goal')) == text


def test_a_model_that_plans_is_told_only_what_things_are_hidden_in():
    told = {Atom.parse('inside apple_1,fridge_1'): True,
            Atom.parse('inside bowl_1,fridge_1'): False,
            Atom.parse('reachable apple_1'): False, Atom.parse('ontop bowl_1,plate_1'): True}
    text = DOMAIN.planning_prompt('plan', PROBLEM, privileged_facts=told).before_image
    section = text.partition('# Known facts\n')[2].partition('\n\n')[0]
    assert section == '- The apple_1 is inside the fridge_1.'
    del told[Atom.parse('inside apple_1,fridge_1')]
    prompt = DOMAIN.planning_prompt('plan', PROBLEM, privileged_facts=told)
    assert 'Known facts' not in prompt.before_image


def test_actions_are_remembered_in_words():
    said = {str(action): DOMAIN.prompts.phrase(action) for action in MODEL.actions}
    assert said['place-inside(apple_1, fridge_1)'] == 'put the apple_1 inside the fridge_1'
    assert said['navigate-to(sink_1)'] == 'go to the sink_1'
    assert len(set(said.values())) == len(said)


def test_problem_files_in_the_papers_vocabulary_load(tmp_path):
    (tmp_path / 'cleaning_out_drawers_0.pddl').write_text(AUTHORS_HOME)
    problems, errors = read_folder(DOMAIN, tmp_path)
    assert not errors
    own = DOMAIN.split_problems('simple')[0]
    assert (problems[0].name, problems[0].objects, problems[0].init, problems[0].goal) == (
        own.name, own.objects, own.init, own.goal)


def test_the_papers_files_are_known_to_its_suite(tmp_path):
    (tmp_path / 'cleaning_out_drawers_0.pddl').write_text(AUTHORS_HOME)
    report = check(tmp_path)
    assert (report.counts['problems'], report.skipped) == (1, [])


def test_a_domain_file_in_the_papers_vocabulary_is_taken():
    text = DOMAIN.pddl.replace('(domain household)', '(domain igibson)').replace(
        ' (not (= ?m ?o))', '')
    theirs = load_domain('household', None, text)
    assert theirs.schema.name == 'igibson'
    problem = theirs.parse_problem(AUTHORS_HOME, 'x')
    assert theirs.write_problem(problem).splitlines()[1] == '  (:domain igibson)'


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('(inside bowl_1 cabinet_1)', '(inside bowl_1 sink_1)', ':10: "sink_1" .* is of type object'),
    ('(inside bowl_1 cabinet_1)', '(holding sink_1)', ':10: "sink_1" .* is of type object'),
    ('bowl_1 - movable', 'bowl_1 - thing', ':5: unknown type "thing"'),
    ('(ontop bowl_1 sink_1)', '(sliced bowl_1)', ':13: unknown predicate "sliced"')])
def test_what_does_not_fit_the_vocabulary_is_refused_with_its_line(old, new, message):
    assert old in AUTHORS_HOME
    with pytest.raises(ProblemError, match=message):
        DOMAIN.parse_problem(AUTHORS_HOME.replace(old, new), 'x', 'theirs.pddl')
