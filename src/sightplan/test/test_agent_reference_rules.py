"""The settings by which methods do as ViPlan's reference implementation does, one by one."""

import json

import pytest

from doubles import (
    EventList,
    MemoryWorld,
    ScriptedPlanner,
    SearchPlanner,
    TalkingBackend,
    TruthGrounder,
    facts_of,
    spec_of,
    tried_so_far,
    two_blocks,
)
from sightplan.agent import make_policy, method_names, run_episode
from sightplan.agent.registry import policy_class
from sightplan.domains import load_domain
from sightplan.domains.instantiation import InstantiatedModel
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    Feedback,
    FeedbackStatus,
    Observed,
    PlanningResult,
    PlanningStatus,
    Privileged,
    Problem,
    Proposed,
    Stepped,
    StopReason,
    Verdict,
)
from sightplan.planning.visual import BackendVisualPlanner

YES, NO = Verdict.YES, Verdict.NO
R_TO_2, G_TO_2, G_TO_3 = (Action('moveblock', args)
                          for args in (('r', 'c2'), ('g', 'c2'), ('g', 'c3')))
PRE, EFF, ENUM = AskPurpose.PRECONDITION, AskPurpose.EFFECT, AskPurpose.ENUMERATION
HOUSE = load_domain('household')


class Listener(TruthGrounder):
    """Answers from ground truth, and keeps the prompts."""

    def __init__(self, world, change=None):
        super().__init__(world, change)
        self.prompts = []

    def ground(self, observation, questions, timeout_s=None, prompt=None):
        self.prompts.append(prompt)
        return super().ground(observation, questions, timeout_s)


def solved(*plan):
    return PlanningResult(PlanningStatus.SOLVED, tuple(plan))


def episode(change=None, planner=None, spec=None, world=None, method='ground', **settings):
    world = world or MemoryWorld()
    spec = spec or spec_of(method=method)
    events, grounder = EventList(), Listener(world, change)
    ended = run_episode(spec, make_policy(method, settings), world, grounder,
                        planner or SearchPlanner(world.domain), events, world.domain,
                        privileged=facts_of(world, spec))
    return ended, events, grounder


def asked(events, purpose):
    """Atoms of the first questions with a purpose, as texts."""
    found = next(event for event in events.of(Asked) if event.purpose is purpose)
    return {str(question.atom) for question in found.questions}


def house(init=(), goal='(holding cup_1)', **objects):
    """A household problem with a cup and a cabinet, and a world that shows only ``seen``."""
    objects = {'cup_1': 'movable', 'plate_1': 'movable', 'cabinet_1': 'container', **objects}
    return HOUSE.parse_problem(
        '(define (problem tiny) (:domain household) (:objects '
        + ' '.join(f'{name} - {kind}' for name, kind in objects.items())
        + f') (:init {" ".join(init)}) (:goal (and {goal})))', 'tiny')


def house_world(*seen):
    return MemoryWorld(HOUSE, visible=lambda problem, state: set(seen))


# What ends an episode

@pytest.mark.parametrize(('rule', 'reason', 'steps'), [
    ('refused', StopReason.PLAN_DONE, 2), ('any', StopReason.REPEATED_ILLEGAL, 2)])
def test_a_refused_action_after_the_same_one_that_was_called_off(rule, reason, steps):
    def change(atom, truth, call):
        return YES if str(atom) == 'clear g' and call != 1 else None
    ended, events, _ = episode(change, ScriptedPlanner(
        solved(G_TO_3), solved(G_TO_3), solved()), repeated_illegal=rule)
    assert [step.feedback.status for step in events.of(Stepped)] == [
        FeedbackStatus.WITHHELD, FeedbackStatus.REJECTED]
    assert (ended.reason, ended.steps) == (reason, steps)


def test_another_action_between_two_refused_ones_does_not_end_it():
    def change(atom, truth, call):
        return YES if str(atom) == 'clear g' else None
    planner = ScriptedPlanner(solved(G_TO_3), solved(G_TO_2), solved(G_TO_3), solved())
    ended, _, _ = episode(change, planner, repeated_illegal='any')
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 3)


@pytest.mark.parametrize(('rule', 'reason'), [
    ('error', StopReason.ERROR), ('no_plan', StopReason.NO_PLAN)])
def test_a_planner_that_crashes(rule, reason):
    ended, _, _ = episode(planner=ScriptedPlanner(PlanningResult(PlanningStatus.CRASHED)),
                          planner_crash=rule)
    assert ended.reason is reason


@pytest.mark.parametrize(('rule', 'reason'), [
    ('withhold', StopReason.BUDGET), ('stop', StopReason.GAVE_UP)])
def test_a_precondition_out_of_view_that_is_believed_false(rule, reason):
    grasp = Action('grasp', ('cup_1',))
    ended, _events, _ = episode(
        planner=ScriptedPlanner(*[solved(grasp)] * 9), world=house_world('plate_1'),
        spec=spec_of(house(), max_actions=2, privileged=Privileged.ALWAYS), hidden_mismatch=rule)
    assert ended.reason is reason
    assert ended.steps == (2 if rule == 'withhold' else 0)


# What is asked, and expected

@pytest.mark.parametrize(('whom', 'found'), [('all', {True}), ('others', {False})])
def test_a_condition_about_all_things_and_the_thing_itself(whom, found):
    world = house_world('cup_1', 'plate_1', 'cabinet_1')
    _, events, _ = episode(planner=ScriptedPlanner(solved(Action('grasp', ('cup_1',))), solved()),
                           world=world, spec=spec_of(house(['(reachable cup_1)'])),
                           quantified_conditions=whom)
    texts = asked(events, PRE)
    assert 'holding plate_1' in texts and {'holding cup_1' in texts} == found


def test_where_an_atom_is_both_added_and_deleted():
    domain = """
    (define (domain both) (:requirements :strips :typing) (:types lamp)
      (:predicates (lit ?l - lamp))
      (:action press :parameters (?l - lamp) :precondition ()
        :effect (and (lit ?l) (not (lit ?l)))))"""
    model = InstantiatedModel(Problem('p', 'both', {'a': 'lamp'}, frozenset(), (),
                                      domain_pddl=domain))
    press, lit = Action('press', ('a',)), Atom('lit', ('a',))
    assert model.effects(press, frozenset()) == {lit: True}
    assert model.effects(press, frozenset(), last_wins=True) == {lit: False}


@pytest.mark.parametrize(('rule', 'last'), [('add', False), ('last', True)])
def test_the_rule_for_such_an_atom_is_the_methods(rule, last, monkeypatch):
    rules = []
    real = InstantiatedModel.effects

    def effects(self, action, state, last_wins=False):
        rules.append(last_wins)
        return real(self, action, state, last_wins)
    monkeypatch.setattr(InstantiatedModel, 'effects', effects)
    episode(planner=ScriptedPlanner(solved(R_TO_2), solved()), conflicting_effects=rule,
            world=MemoryWorld())
    assert last in rules and (rule == 'last' or True not in rules)


@pytest.mark.parametrize('mark', [True, False])
def test_the_question_mark(mark):
    _, _, grounder = episode(question_mark=mark)
    asked = [prompt.ask('Is it so?') for prompt in grounder.prompts]
    assert {text.endswith('so?') for text in asked} == {mark}
    assert {text.endswith('so') for text in asked} == {not mark}


@pytest.mark.parametrize(('words', 'whose'), [('own', 'robot'), ('paper', 'agent')])
def test_the_words_of_questions(words, whose):
    world = house_world('cup_1', 'plate_1', 'cabinet_1')
    _, events, _ = episode(planner=ScriptedPlanner(solved()), world=world,
                           spec=spec_of(house()), question_words=words)
    texts = {question.text for question in events.of(Asked)[0].questions}
    assert {f'Is the cup_1 in reach of the {whose}?', f'Is the {whose} holding the cup_1?',
            'Is the cabinet_1 open?'} <= texts


@pytest.mark.parametrize('method', ['ground', 'ground_cot', 'ground_mem'])
def test_the_limit_of_tokens_of_an_answer(method):
    _, _, grounder = episode(method=method, reply_tokens=1024)
    assert {prompt.max_tokens for prompt in grounder.prompts} == {1024}
    _, _, grounder = episode(method='ground')
    assert {prompt.max_tokens for prompt in grounder.prompts} == {16}


@pytest.mark.parametrize(('form', 'named'), [
    ('words', 'move the red block into the column labeled "c2"'), ('call', 'moveblock(r, c2)')])
def test_the_action_in_the_memory(form, named):
    def change(atom, truth, call):
        return NO if (call, str(atom)) == (1, 'clear r') else None
    _, _, grounder = episode(change, method='ground_mem', memory_action=form)
    assert f'planned to {named}.' in grounder.prompts[2].after_image


# Privileged facts as the reference implementation reads them

def test_conditional_effects_may_be_chosen_by_the_true_state():
    def change(atom, truth, call):
        return NO if call == 0 and str(atom) == 'on r,g' else None
    for level, found in ((Privileged.NONE, False), (Privileged.ALWAYS, False),
                         (Privileged.REFERENCE, True)):
        _, events, _ = episode(change, ScriptedPlanner(solved(R_TO_2), solved()),
                               spec=spec_of(privileged=level))
        assert ('clear g' in asked(events, EFF)) is found


def test_facts_from_before_an_action_say_nothing_about_the_next_one(monkeypatch):
    """Nothing is observed before an action without preconditions: what was done counts."""
    monkeypatch.setattr(InstantiatedModel, 'preconditions', lambda *_, **__: ())
    cup, cabinet = 'cup_1', 'cabinet_1'
    problem = house([f'(holding {cup})', f'(open {cabinet})', f'(reachable {cabinet})',
                     f'(reachable {cup})'])
    world, policy = house_world(), make_policy('ground', {})
    plan = solved(Action('place-inside', (cup, cabinet)), Action('close-container', (cabinet,)))
    spec = spec_of(problem, privileged=Privileged.ALWAYS)
    run_episode(spec, policy, world, TruthGrounder(world), ScriptedPlanner(plan), EventList(),
                world.domain, privileged=facts_of(world, spec))
    assert Atom('reachable', (cup,)) not in world.state()
    assert policy._belief[Atom('reachable', (cup,))] is False


def test_facts_about_what_is_in_view_are_not_believed():
    def change(atom, truth, call):
        return NO if str(atom) == 'on r,g' else None
    _, events, _ = episode(change, ScriptedPlanner(solved(R_TO_2), solved()),
                           spec=spec_of(privileged=Privileged.REFERENCE))
    beliefs = [event.belief.state for event in events.of(BeliefUpdated)]
    assert beliefs and all(Atom('on', ('r', 'g')) not in belief for belief in beliefs)


def test_they_reach_the_papers_methods_alone():
    assert {name for name in method_names() if policy_class(name).reads_visible_facts} == {
        'ground', 'ground_cot', 'ground_mem', 'ground_mem_cot', 'plan', 'plan_cot', 'action',
        'action_cot'}
    spec = spec_of(method='random', privileged=Privileged.REFERENCE, max_actions=2)
    for method, found in (('random', False), ('ground', True)):
        world, events = MemoryWorld(), EventList()

        class Looking(type(make_policy(method))):
            """Looks before it begins."""

            def begin(self, context):
                context.observe()
                return super().begin(context)
        policy = make_policy(method)
        policy.__class__ = Looking
        run_episode(spec, policy, world, TruthGrounder(world), SearchPlanner(), events,
                    world.domain, privileged=facts_of(world, spec))
        assert {bool(event.observation.privileged_facts)
                for event in events.of(Observed)} == {found}


@pytest.mark.parametrize('level', [Privileged.REFERENCE, Privileged.ALWAYS])
def test_the_first_plan_may_be_made_without_a_question(level):
    world = house_world('cup_1', 'cabinet_1')
    problem = house(['(open cabinet_1)', '(inside plate_1 cabinet_1)'])
    planner = ScriptedPlanner(solved(Action('navigate-to', ('cup_1',))), solved())
    _, events, _ = episode(planner=planner, world=world, first_plan='facts',
                           spec=spec_of(problem, privileged=level))
    assert next(event.purpose for event in events.of(Asked)) is PRE
    believed = HOUSE.parse_problem(planner.tasks[0].problem_pddl, 't').init
    wanted = {Atom('inside', ('plate_1', 'cabinet_1'))}
    if level is Privileged.REFERENCE:
        wanted |= {Atom('open', ('cabinet_1',))}
    assert believed == wanted


def test_the_first_facts_are_those_of_the_problem_file():
    """What only the world makes true, such as what is near at the start, is not among them."""
    near = Atom('reachable', ('cup_1',))

    class Near(MemoryWorld):
        def state(self, stamp_ns=None):
            return super().state(stamp_ns) | {near}
    world = Near(HOUSE, visible=lambda problem, state: set(problem.objects))
    spec = spec_of(house(), privileged=Privileged.REFERENCE)
    world.reset(spec)
    source = facts_of(world, spec)
    assert source.provide(world.observe())[near] is False
    world.execute(Action('navigate-to', ('cabinet_1',)))
    assert source.provide(world.observe())[near] is True


# The model as planner

def planned(*replies, method='plan', world=None, spec=None, **settings):
    world = world or MemoryWorld()
    left = list(replies)
    spec = spec or spec_of(method=method, max_actions=len(replies))
    events = EventList()
    backend = TalkingBackend(lambda request: left.pop(0))
    ended = run_episode(spec, make_policy(method, settings), world, None, None, events,
                        world.domain, visual_planner=BackendVisualPlanner(backend, world.domain),
                        privileged=facts_of(world, spec))
    return ended, events, backend


def one(action='moveblock', **parameters):
    return json.dumps({'plan': [{'action': action, 'parameters': parameters}]})


class Reporting(MemoryWorld):
    """Says what it did, as blocksworld does with ``failures=reported``."""

    def execute(self, action):
        feedback = super().execute(action)
        return (Feedback(feedback.status, 'moveblock(r, c3)', feedback.stamp_ns)
                if feedback.status is FeedbackStatus.EXECUTED else feedback)


def test_the_history_as_json():
    replies = (one(block='r', column='c2'), one(block='r', column='c2'),
               one('fly', to='c2'), one(block='r', column='c9'), one(block='r', column='c1'))
    _, events, backend = planned(*replies, history='json')
    move = {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}}
    wrong = {'outcome': 'failure', 'info': 'action does not exist'}
    assert json.loads(tried_so_far(backend.requests[0])) == []
    assert json.loads(tried_so_far(backend.requests[-1])) == [
        {**move, 'outcome': 'success', 'info': 'success'},
        {**move, 'outcome': 'failure', 'info': 'not legal'},
        {'action': 'fly', 'parameters': {'to': 'c2'}, **wrong},
        {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c9'}, **wrong}]
    numbered = planned(*replies[:1])[1].of(Proposed)[0]
    assert events.of(Proposed)[0].prompt != numbered.prompt  # its words are part of the prompt


def test_the_history_as_json_says_what_the_world_reports():
    _, _, backend = planned(*[one(block='r', column='c2')] * 2, world=Reporting(), history='json')
    assert json.loads(tried_so_far(backend.requests[1]))[0]['info'] == 'moveblock(r, c3)'
    _, _, backend = planned(*[one(block='r', column='c2')] * 2, world=Reporting())
    assert 'c3)' not in backend.requests[1].parts[0]


def test_the_history_as_json_in_household():
    replies = (one('navigate-to', destination='cup_1'), one('navigate-to', destination='cup_1'),
               one('fly', to='cup_1'), one('grasp', thing='nothing'), one())
    world = house_world('cup_1', 'plate_1', 'cabinet_1')
    _, _, backend = planned(*replies, world=world, history='json',
                            spec=spec_of(house(), method='plan', max_actions=5))
    assert [step['outcome'] for step in json.loads(tried_so_far(backend.requests[-1]))] == [
        'executed', 'parameters incorrectly specified', 'action does not exist',
        'parameters incorrectly specified']


@pytest.mark.parametrize(('text', 'repaired', 'between_braces'), [
    ('Sure: ' + one(block='r', column='c2') + ' Good luck!', True, True),
    (one(block='r', column='c2').replace('"', "'"), True, False),   # no JSON
    (json.dumps([{'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}}]), True,
     False),                                                        # no plan
    ('{"note": 1} ' + one(block='r', column='c2'), True, False),    # two objects
    (one(block='r', column='c2')[:-1] + ', "why": "x"}', True, True)])
def test_replies_read_between_braces(text, repaired, between_braces):
    for form, read in (('repaired', repaired), ('braces', between_braces)):
        ended, events, _ = planned(text, '', reply_form=form, on_unparsed='stop')
        assert (len(events.of(Stepped)) == 1) is read, form
        assert ended.reason is StopReason.UNPARSED


def test_parameters_in_a_list_are_wrong_between_braces():
    text = json.dumps({'plan': [{'action': 'moveblock', 'parameters': ['r', 'c2']}]})
    _, events, _ = planned(text, reply_form='braces')
    assert [event.proposal.status.value for event in events.of(Proposed)] == ['wrong_arguments']


def test_one_action_between_braces():
    action = {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}}
    for value in (action, {'action': action}):
        _, events, _ = planned('So: ' + json.dumps(value), method='action', reply_form='braces')
        assert [step.action for step in events.of(Stepped)] == [R_TO_2]


def test_an_empty_plan_may_repeat_the_last_action():
    empty = json.dumps({'plan': []})
    ended, events, _ = planned(one(block='r', column='c2'), empty, one('fly'), empty,
                               on_empty='repeat')
    assert [step.action for step in events.of(Stepped)] == [R_TO_2, R_TO_2, None, None]
    assert (ended.reason, ended.remaining) == (StopReason.BUDGET, 0)
    ended, _, _ = planned(one(block='r', column='c2'), empty, on_empty='repeat')
    assert (ended.steps, ended.remaining) == (2, 0)  # what is repeated is not of the empty plan
    ended, _, _ = planned(empty, on_empty='repeat')
    assert ended.reason is StopReason.EMPTY_PLAN


@pytest.mark.parametrize('method', ['plan', 'plan_cot', 'action', 'action_cot'])
def test_the_limit_of_tokens_of_a_plan(method):
    _, _, backend = planned('', method=method, reply_tokens=1024)
    assert backend.requests[0].max_tokens == 1024


def test_planners_are_told_where_things_out_of_reach_are():
    """Not only those out of view: cup_1 is seen; plate_1 is in reach, so that nothing is said."""
    problem = house(['(open cabinet_1)', '(inside cup_1 cabinet_1)', '(inside plate_1 cabinet_1)',
                     '(reachable plate_1)'])
    for level, cup in ((Privileged.ALWAYS, False), (Privileged.REFERENCE, True)):
        _, _, backend = planned(
            '', world=house_world(*problem.objects),
            spec=spec_of(problem, method='plan', max_actions=1, privileged=level))
        text = backend.requests[0].parts[0]
        assert ('The cup_1 is inside the cabinet_1.' in text) is cup
        assert 'The plate_1 is inside' not in text


def test_in_a_domain_without_reach_planners_are_told_of_nothing_in_view():
    spec = spec_of(two_blocks(), method='plan', max_actions=1, privileged=Privileged.REFERENCE)
    _, events, backend = planned('', spec=spec)
    assert 'Known facts' not in backend.requests[0].parts[0]
    assert events.of(Observed)[0].observation.privileged_facts
