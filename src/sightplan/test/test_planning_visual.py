"""Reading what a model proposes: strictly, by one repair, or not at all; and the port."""

import json
import re

import numpy as np
import pytest

from doubles import MemoryWorld, TalkingBackend, pantry, spec_of, two_blocks, visual_planner
from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    InputError,
    Observation,
    PastStep,
    ProposalStatus,
    VisualPlanner,
    VisualTask,
)
from sightplan.planning.visual import MAX_CHARS, MAX_STEPS, BackendVisualPlanner, read_proposal
from sightplan.queries import TextReply

BLOCKS = load_domain('blocksworld')
MODEL = BLOCKS.model(two_blocks())
MOVE, AGAIN = Action('moveblock', ('r', 'c2')), Action('moveblock', ('g', 'c3'))
STEP = {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}}
THEN = {'action': 'moveblock', 'parameters': {'block': 'g', 'column': 'c3'}}
PLAN = json.dumps({'plan': [STEP, THEN]})
PLANNED, UNPARSED, EMPTY, UNKNOWN, WRONG = (
    ProposalStatus.PLANNED, ProposalStatus.UNPARSED, ProposalStatus.EMPTY,
    ProposalStatus.UNKNOWN_ACTION, ProposalStatus.WRONG_ARGUMENTS)


def read(text, name='plan', **values):
    if not isinstance(text, str):
        text = json.dumps(text)
    prompt = BLOCKS.planning_prompt(name, two_blocks())
    proposal = read_proposal(text, prompt, BLOCKS.prompts.actions, MODEL, **values)
    assert (proposal.status is PLANNED) is bool(proposal.actions) is not bool(proposal.message)
    for action in proposal.actions:
        MODEL.check(action)
    return proposal


# As asked for

@pytest.mark.parametrize(('name', 'text', 'actions'), [
    ('plan', {'plan': [STEP, THEN]}, (MOVE, AGAIN)),
    ('plan_cot', {'explanation': 'so', 'plan': [STEP]}, (MOVE,)),
    ('plan_cot', {'plan': [STEP], 'explanation': 'so'}, (MOVE,)),
    ('action', STEP, (MOVE,)),
    ('action_cot', {'explanation': 'so', **STEP}, (MOVE,)),
    ('action', {'action': 'moveblock', 'parameters': ['r', 'c2']}, (MOVE,)),
    ('action', {'action': ' MoveBlock', 'parameters': {'COLUMN': 'C2', 'Block': ' R '}}, (MOVE,)),
])
def test_a_reply_of_the_asked_form_needs_no_repair(name, text, actions):
    proposal = read(text, name)
    assert (proposal.actions, proposal.repaired) == (actions, False)
    assert proposal.explanation == ('so' if name.endswith('_cot') else '')
    assert proposal.named == str(actions[0])
    assert proposal.text == json.dumps(text)


@pytest.mark.parametrize('fence', [
    '```json\n%s\n```', '```\n%s\n```', ' \n```JSON \n\n%s\n\n```\n'])
def test_one_code_fence_is_no_repair(fence):
    assert read(fence % PLAN) == read(PLAN).__class__(
        PLANNED, (MOVE, AGAIN), str(MOVE), text=fence % PLAN)


# By repair

@pytest.mark.parametrize(('name', 'text'), [
    ('plan', f'Sure! {PLAN} Good luck.'),
    ('plan', f'Here:\n```json\n{PLAN}\n```\nDone.'),
    ('plan', f'```python\n{PLAN}\n```'),
    ('plan', f'```json\n{PLAN}\n'),
    ('plan', f'<think>hm</think>{PLAN}'),
    ('plan', '<think>either {"plan": []} or {not}</think>' + PLAN),
    ('plan', str({'plan': [STEP, THEN]})),
    ('plan', PLAN.replace(']', ',]').replace('}', ' , }')),
    ('plan', json.dumps([STEP, THEN])),
    ('plan', f'The plan is [{json.dumps(STEP)}, {json.dumps(THEN)}].'),
    ('plan', {'plan': [STEP, THEN], 'note': None, 'sure': True, 'p': 0.5, 'n': [1, -2e3]}),
    ('plan_cot', PLAN),
    ('plan_cot', {'explanation': 7, 'plan': [STEP, THEN]}),
    ('plan_cot', '{"explanation": "First\nthis,\n\tthen that",' + PLAN[1:]),
    ('action', {'plan': [STEP, THEN]}),
    ('action', [STEP, THEN]),
])
def test_one_repair_is_made_and_counted(name, text):
    proposal = read(text, name)
    assert proposal.status is PLANNED and proposal.repaired
    assert proposal.actions == (MOVE, AGAIN)


@pytest.mark.parametrize(('name', 'text'), [
    ('plan', STEP),
    ('plan', {'plan': STEP}),
    ('action', {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}, 'why': ''}),
    ('action_cot', STEP),
    ('action', {**STEP, 'plan': [THEN]}),
])
def test_one_action_is_a_plan_of_one(name, text):
    proposal = read(text, name)
    assert (proposal.actions, proposal.repaired) == ((MOVE,), True)


def test_a_reason_with_escapes_survives_the_repair():
    text = r"""{'explanation': 'it\'s "r" \u00e9\n', 'plan': []} """
    assert read(text, 'plan_cot').explanation == 'it\'s "r" é\n'


def test_a_repair_makes_no_name_of_what_is_none():
    proposal = read('So: ' + PLAN.replace('moveblock', 'moveb\\lock'))
    assert (proposal.status, proposal.named) == (UNKNOWN, 'moveb\\lock(block=r, column=c2)')


# Not at all

@pytest.mark.parametrize('text', [
    '', ' ', 'moveblock(r, c2)', 'null', '7', '"plan"', '[]x', '{}', '{"plan": null}',
    '{"plan": "moveblock(r, c2)"}', '{"plan": ["moveblock(r, c2)"]}', '{"plan": [[]]}',
    '{"plan": [{"action": 1, "parameters": {}}]}', '{"plan": [{"parameters": {}}]}',
    '{"plan": [{"action": "moveblock", "parameters": "r, c2"}]}', '{"plan": [null]}',
    PLAN[:-1], PLAN[:-2], PLAN[:40], f'{PLAN}\nor\n{PLAN.replace("c2", "c3")}',
    PLAN + PLAN[:-2], f'I cannot see the picture. {PLAN}',
    '{"plan": [], "plan": [' + json.dumps(STEP) + ']}',
    PLAN.replace('"block": "r"', '"block": "r", "block": "g"'),
    '{plan: [{action: moveblock, parameters: [r, c2]}]}', '{"plan" [ ] }', '{"plan": [] "a": 1}',
    '{' * 50_000, '[' * 50_000, '{"plan":' * 9_000 + '1' + '}' * 9_000,
    '{"a": [[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]}', '{"plan": [' + '"' * 40_001 + ']}',
    '{"plan": [' + "'" + '\\' * 40_001 + ']}', 'x' * (MAX_CHARS + 1), '{' + '\n' * 90_000 + '}',
    '```' + '\n' * 90_000 + '```', '{"plan": NaN}', '{"plan": [1e999]}', '9' * 50_000,
    '{"plan": [' + '9' * 50_000 + ']}', '__import__("os").abort()',
    '{"plan": __import__("os").abort()}', '{"plan": [lambda: 0]}', '{"plan": [{*()}]}',
    '\ud800', '\0', '{"plan": "\0"}', PLAN + ' ' * MAX_CHARS, '<think>perhaps ' + PLAN,
    PLAN + '</think>', '<think>a</think><think>' + PLAN,
    'So: {"plan": ' + '[' * 20_000 + ']' * 20_000 + '}',
])
def test_what_cannot_be_read_proposes_nothing(text):
    proposal = read(text)
    assert (proposal.status, proposal.actions, proposal.named) == (UNPARSED, (), '')
    assert 'JSON' in proposal.message
    proposal.text.encode()


def test_a_reply_that_was_cut_off_is_told_so_and_never_completed():
    proposal = read(PLAN[:-30], truncated=True)
    assert proposal.status is UNPARSED and 'cut off' in proposal.message
    assert read(PLAN, truncated=True).status is PLANNED


def test_a_long_reply_is_kept_in_part():
    assert len(read('é' * (2 * MAX_CHARS)).text) == MAX_CHARS


# What it names

@pytest.mark.parametrize(('name', 'text'), [
    ('plan', {'plan': []}), ('action', {'action': None, 'parameters': {}}),
    ('plan_cot', {'explanation': 'done', 'plan': []}),
    ('action_cot', {'explanation': 'done', 'action': None, 'parameters': {}})])
def test_an_empty_plan_is_one(name, text):
    proposal = read(text, name)
    assert (proposal.status, proposal.repaired) == (EMPTY, False)
    assert read('[]x').status is UNPARSED


def step(action, parameters):
    return {'plan': [{'action': action, 'parameters': parameters}, STEP]}


@pytest.mark.parametrize(('action', 'named'), [
    ('stack', 'stack(r, c2)'), ('', '(r, c2)'), ('move block', 'move block(r, c2)'),
    ('x' * 500, 'x' * 60 + '...(r, c2)'), ('a\nb\t\0c\u202e', 'a b c(r, c2)')])
def test_an_unknown_action_is_told_with_the_known_ones(action, named):
    proposal = read(step(action, ['r', 'c2']))
    assert (proposal.status, proposal.named) == (UNKNOWN, named)
    assert 'moveblock' in proposal.message


@pytest.mark.parametrize(('parameters', 'named', 'message'), [
    (['r'], 'moveblock(r)', 'its parameters are block, column'),
    (['r', 'c2', 'c2'], 'moveblock(r, c2, c2)', 'its parameters are'),
    ({}, 'moveblock()', 'its parameters are'),
    ({'block': 'r', 'to': 'c2'}, 'moveblock(block=r, to=c2)', 'its parameters are'),
    ({'block': 'r', 'Block': 'g', 'column': 'c2'},
     'moveblock(block=r, Block=g, column=c2)', 'its parameters are'),
    (['c2', 'r'], 'moveblock(c2, r)', 'c2 is of another type'),
    (['r', 'c9'], 'moveblock(r, c9)', 'c9 is unknown .*c1, c2, c3'),
    (['red block', 'c2'], 'moveblock(red block, c2)', 'names of objects'),
    (['red', 'c2'], 'moveblock(red, c2)', 'red is unknown'),
    (['r', 2], 'moveblock(r, 2)', 'names of objects'),
    ([None, ['c2']], 'moveblock(null, ...)', 'names of objects'),
    (['r', 'a' * 9000], 'moveblock(r, ' + 'a' * 60 + '...)', 'is unknown|aaa'),
    (['r', 'c2; rm -rf'], 'moveblock(r, c2; rm -rf)', 'names of objects'),
    ({f'k{i}': 'r' for i in range(100)}, None, 'its parameters are'),
])
def test_wrong_arguments_are_told_with_what_is_wrong(parameters, named, message):
    proposal = read(step('moveblock', parameters))
    assert proposal.status is WRONG and proposal.actions == ()
    assert named in (None, proposal.named)
    assert len(proposal.named) < 2500 and len(proposal.message) <= 400
    assert re.search(message, proposal.message)


def test_a_plan_is_kept_up_to_the_first_step_that_is_not_right():
    for bad in ({'action': 'fly', 'parameters': []}, {'action': 'moveblock', 'parameters': []},
                7, None):
        proposal = read({'plan': [STEP, THEN, bad, STEP]})
        assert proposal.actions == (MOVE, AGAIN)
    short = {'action': 'moveblock', 'parameters': ['r', 'c2']}
    assert len(read({'plan': [short] * 1500}).actions) == MAX_STEPS


def test_actions_without_parameters_and_several_schemas():
    domain = pantry()
    problem = domain.split_problems('small')[0]
    prompt, model = domain.planning_prompt('action', problem), domain.model(problem)

    def status(action, parameters):
        text = json.dumps({'action': action, 'parameters': parameters})
        return read_proposal(text, prompt, domain.prompts.actions, model).status
    assert status('take-out', {'thing': 'apple', 'container': 'high'}) is PLANNED
    assert status('take-out', ['apple', 'table']) is WRONG
    assert status('open', ['left']) is PLANNED
    assert status('take_out', ['apple', 'high']) is UNKNOWN


# The port

def test_the_port_shows_prompt_and_picture_and_reports_who_answered():
    backend = TalkingBackend(lambda request: PLAN)
    planner = BackendVisualPlanner(backend)
    assert isinstance(planner, VisualPlanner)
    image = np.full((4, 4, 3), 7, np.uint8)
    history = (PastStep('moveblock(g, c1)', 'refused'),)
    task = VisualTask(two_blocks(), 'plan_cot', history, True)
    proposal = planner.propose(Observation(image), task, 12.5)
    prompt = BLOCKS.planning_prompt('plan_cot', two_blocks(), history, None, True)
    request, = backend.requests
    assert (request.system, request.max_tokens, backend.deadline.timeout_s) == (
        prompt.system, prompt.max_tokens, 12.5)
    assert request.parts[0] == prompt.before_image and request.parts[1] is image
    assert (proposal.model, proposal.prompt_sha256) == ('talking', prompt.sha256)
    assert proposal.actions == (MOVE, AGAIN) and proposal.repaired


def test_the_port_may_show_a_description_but_not_nothing():
    planner = BackendVisualPlanner(TalkingBackend(lambda request: request.parts[1]))
    task = VisualTask(two_blocks(), 'plan')
    assert planner.propose(Observation(text='A red block.'), task).text == 'A red block.'
    with pytest.raises(InputError, match='neither image nor text'):
        planner.propose(Observation(), task)


def test_the_port_passes_on_that_a_reply_was_cut_off():
    planner = BackendVisualPlanner(TalkingBackend(lambda request: TextReply(PLAN[:20], True)))
    world = MemoryWorld()
    world.reset(spec_of())
    proposal = planner.propose(world.observe(), VisualTask(two_blocks(), 'plan'))
    assert 'cut off' in proposal.message
    assert proposal.cut_at == BLOCKS.planning_prompt('plan', two_blocks()).max_tokens
    assert visual_planner(world).propose(
        world.observe(), VisualTask(two_blocks(), 'plan')).cut_at == 0


def test_a_backend_that_cannot_plan_is_refused():
    backend = TalkingBackend(lambda request: '')
    backend.accepts = frozenset()
    with pytest.raises(InputError, match='yes/no questions only'):
        BackendVisualPlanner(backend)


def test_objects_of_another_problem_are_not_known():
    world = MemoryWorld()
    planner = visual_planner(world)
    for problem in (two_blocks(), BLOCKS.split_problems('simple')[0]):
        world.reset(spec_of(problem))
        proposal = planner.propose(world.observe(), VisualTask(problem.for_agent(), 'action'))
        assert proposal.status is PLANNED
        BLOCKS.model(problem).check(proposal.actions[0])
