"""Prompts: what they say and must not say, their files, their hashes, what is wrong with them."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
import yaml

from doubles import PANTRY, pantry, two_blocks
from sightplan.cli import main
from sightplan.domains import Became, Domain, MemoryOf, load_domain
from sightplan.model import Action, Atom, DomainError, InputError, PastStep
from sightplan.planning.visual import read_proposal

PLANNING = ('plan', 'plan_cot', 'action', 'action_cot')
QUESTIONS = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')
BLOCKS = load_domain('blocksworld')
MOVE = Action('moveblock', ('r', 'c2'))


def shown(prompt):
    return '\n'.join((prompt.system, *prompt.parts('[picture]')))


def all_of(name, problem=None, **values):
    return shown(BLOCKS.planning_prompt(name, problem or two_blocks(), **values))


def test_every_method_of_the_paper_has_its_prompt():
    assert set(BLOCKS.prompt_names) == {*PLANNING, *QUESTIONS, 'ground_unknown'}
    assert len({BLOCKS.prompt_hash(name) for name in BLOCKS.prompt_names}) == 9


def test_one_prompt_offers_unknown_as_an_answer():
    for domain in (BLOCKS, load_domain('household')):
        offered, plain = map(domain.grounding_prompt, ('ground_unknown', 'ground'))
        assert offered.unknown and 'Yes, No or Unknown' in offered.system
        assert not plain.unknown and 'Unknown' not in plain.system
        assert (offered.question, offered.max_tokens) == (plain.question, plain.max_tokens)
    assert not any(BLOCKS.grounding_prompt(name).unknown for name in QUESTIONS)


@pytest.mark.parametrize('name', PLANNING)
def test_a_planning_prompt_tells_all_that_is_needed(name):
    text = all_of(name)
    for part in ('moveblock(block, column)', '- r (red block)', '- c3 (column labeled "c3")',
                 'The green block needs to be on top of the red block',
                 '"parameters"', 'Nothing yet.'):
        assert part in text, part
    assert '"plan"' in text if name.startswith('plan') else '"plan"' not in text
    assert ('"explanation"' in text) is name.endswith('_cot')
    prompt = BLOCKS.planning_prompt(name, two_blocks())
    assert prompt.single is name.startswith('action')
    assert prompt.reasoning is name.endswith('_cot')


def test_the_picture_stands_in_its_place():
    image = np.zeros((2, 2, 3), np.uint8)
    parts = BLOCKS.planning_prompt('plan', two_blocks()).parts(image)
    assert len(parts) == 2 and parts[1] is image and parts[0].endswith('# The scene now')


@pytest.mark.parametrize('name', PLANNING)
def test_a_planning_prompt_says_nothing_about_the_initial_state(name):
    problem = two_blocks()
    blank = dataclasses.replace(problem, init=frozenset())
    assert all_of(name, problem) == all_of(name, blank)


def test_objects_are_facts_of_the_names_that_a_reply_must_use():
    problem = BLOCKS.parse_problem("""
        (define (problem mine) (:domain blocksworld)
          (:objects red_block b_green tower - block left - column)
          (:init (clear red_block))
          (:goal (on red_block b_green)))""", 'mine')
    text = all_of('plan', problem)
    for line in ('- red_block (red block)', '- b_green (green block)',
                 '- tower (block named "tower")', '- left (column labeled "left")'):
        assert line in text
    assert '- r (' not in text


def test_constants_of_the_domain_are_objects_too():
    domain = pantry()
    text = shown(domain.planning_prompt('plan', domain.split_problems('small')[0]))
    assert '- table (surface)' in text and 'take-out(thing, container)' in text


def test_history_is_told_in_order():
    steps = [PastStep('moveblock(r, c1)', 'refused'), PastStep('', 'the reply was no JSON')]
    text = all_of('action', history=steps)
    assert '1. moveblock(r, c1): refused\n2. (no action): the reply was no JSON' in text
    assert 'Nothing yet.' not in text


def test_what_a_model_wrote_is_not_taken_for_a_placeholder():
    text = all_of('plan', history=[PastStep('{goal}', '{system} {{actions}}')])
    assert '1. {goal}: {system} {{actions}}' in text


def test_told_facts_have_a_section_of_their_own_only_if_there_are_any():
    told = {Atom('on', ('r', 'g')): True, Atom('clear', ('g',)): False}
    text = all_of('plan', privileged_facts=told)
    assert 'The red block is on top of the green block.' in text
    assert 'Is the green block the topmost of its column? No.' in text
    without = all_of('plan')
    assert 'Known facts' in text and 'Known facts' not in without
    assert '\n\n\n' not in text + without


def test_a_domain_chooses_which_of_the_facts_are_put_in_words(tmp_path):
    told = {Atom('at', ('cup', 'left')): True, Atom('at', ('cup', 'high')): False,
            Atom('isopen', ('left',)): True, Atom('isopen', ('high',)): False}

    def lines(**chosen):
        domain = Domain(changed(tmp_path / str(len(list(tmp_path.iterdir()))), 'prompts.yaml',
                                lambda data: data.update(privileged_facts=chosen)))
        text = shown(domain.planning_prompt('plan', domain.split_problems('small')[0],
                                            privileged_facts=told))
        assert ('# Known facts' in text) is ('- ' in text.partition('# Known facts')[2])
        section = text.partition('# Known facts\n')[2].partition('\n\n')[0]
        return [line for line in section.splitlines() if line]

    there, away, opened, closed = lines()
    assert 'is in' in there and 'is not in' in away
    assert opened.endswith('open? Yes.') and closed.endswith('open? No.')
    assert lines(predicates=['at'], only_true=True) == [there]
    assert lines(only_true=True) == [there, opened]
    assert lines(predicates=['isopen']) == [opened, closed]
    assert lines(predicates=[]) == lines(predicates=['holding'], only_true=True) == []


def test_only_who_must_say_when_it_is_done_is_asked_to():
    for name in PLANNING:
        free, bound = (all_of(name, stops_at_goal=stops) for stops in (False, True))
        assert 'reached already' in free and 'reached already' not in bound
        assert bound.splitlines()[0] in free


# Questions

@pytest.mark.parametrize('name', QUESTIONS)
def test_all_that_questions_share_stands_before_them(name):
    prompt = BLOCKS.grounding_prompt(name)
    assert prompt.ask('Is it?') == 'Question: Is it?'
    assert 'Cubes' in prompt.system and 'Yes or No' in prompt.system
    assert prompt.reasoning is name.endswith('_cot')
    assert ('<answer>' in prompt.system) is prompt.reasoning
    assert prompt.after_image == ''
    assert prompt.sha256 == BLOCKS.prompt_hash(name)


@pytest.mark.parametrize('outcome', MemoryOf)
def test_a_memory_tells_questions_answers_action_and_outcome(outcome):
    memory = BLOCKS.memory('ground_mem', outcome, MOVE, [('Is it?', 'Yes'), ('Is that?', 'No')])
    text = BLOCKS.grounding_prompt('ground_mem', memory).after_image
    assert text == memory
    assert text.index('Question: Is it?\nYour answer: Yes') < text.index('Question: Is that?')
    assert 'move the red block into the column labeled "c2"' in text
    others = {BLOCKS.memory('ground_mem', o, MOVE, []) for o in MemoryOf}
    assert len(others) == 3


def test_a_prompt_without_words_for_a_memory_says_so():
    with pytest.raises(InputError, match="'ground' has no words"):
        BLOCKS.memory('ground', MemoryOf.FAILED, MOVE, [])


def test_unknown_prompts_and_those_of_another_kind_name_the_choice():
    with pytest.raises(InputError, match="'magic' is unknown.*ground_unknown, plan"):
        BLOCKS.prompt_hash('magic')
    with pytest.raises(InputError, match='among those for questions.*ground, ground_cot'):
        BLOCKS.grounding_prompt('plan')
    with pytest.raises(InputError, match='among those for planning; there are action'):
        BLOCKS.planning_prompt('ground', two_blocks())


# Files

def changed(tmp_path, name, change):
    """The domain of hidden things with one of its files changed; ``change`` edits its data."""
    folder = tmp_path / 'pantry'
    shutil.copytree(PANTRY, folder)
    path = folder / name
    data = yaml.safe_load(path.read_text()) if path.is_file() else {}
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(change(data) or data))
    return folder


def test_a_domain_may_replace_a_template(tmp_path):
    domain = Domain(changed(tmp_path, 'prompts/ground.yaml', lambda data: data.update(
        kind='questions', like=['ground'], question='{question} Speak.')))
    assert domain.grounding_prompt('ground').ask('Is it?') == 'Is it? Speak.'
    # What is like it takes it over, and the hashes tell.
    assert domain.grounding_prompt('ground_mem').ask('Is it?') == 'Is it? Speak.'
    for name, same in (('ground', False), ('ground_mem', False), ('plan', True)):
        assert (domain.prompt_hash(name) == pantry().prompt_hash(name)) is same


def test_what_became_of_a_proposal_is_told_in_the_words_of_the_template(tmp_path):
    """All words that a model is told are in the files that the hash covers."""
    words = {b.value: f'<{b.value}>' for b in Became}
    words['unfit_object'] = '<{name}, {type}, {known}>'
    domain = Domain(changed(tmp_path, 'prompts/plan.yaml', lambda d: d.update(
        kind='planning', like=['plan'], outcomes=words)))
    assert domain.prompt_hash('plan') != pantry().prompt_hash('plan')
    assert domain.became('action', Became.REJECTED) == '<rejected>'
    problem = domain.split_problems('small')[0]
    prompt = domain.planning_prompt('plan', problem)
    told = [read_proposal(reply, prompt, domain.prompts.actions, domain.model(problem),
                          truncated=reply == '{').message for reply in (
        '?', '{', '{"plan": []}', '{"plan": [{"action": "fly", "parameters": []}]}',
        *(json.dumps({'plan': [{'action': 'open', 'parameters': parameters}]})
          for parameters in ([], [7], ['nowhere'], ['table'])))]
    assert told == ['<unreadable>', '<cut_off>', '<empty>', '<unknown_action>',
                    '<wrong_parameters>', '<no_names>', '<unknown_object>',
                    '<table, container, high, left>']


@pytest.mark.parametrize(('file', 'prompt'), [
    ('prompts.yaml', 'plan'), ('questions.yaml', 'ground_cot'), ('goal.yaml', 'action')])
def test_the_hash_covers_all_files_a_prompt_is_made_from(tmp_path, file, prompt):
    def comment(data):
        return None
    domain = Domain(changed(tmp_path, file, comment))  # another layout of the same data
    assert domain.prompt_hash(prompt) != pantry().prompt_hash(prompt)


def drop(key):
    return lambda data: data.pop(key) and None


@pytest.mark.parametrize(('file', 'change', 'message'), [
    ('prompts.yaml', drop('environment'), r'prompts.yaml:1: environment is missing'),
    ('prompts.yaml', lambda d: d.update(more=1), 'more is unknown'),
    ('prompts.yaml', lambda d: d.update(environment='{goal}'),
     r'environment = .*: unknown placeholder \{goal\} \(known: none'),
    ('prompts.yaml', lambda d: d['actions'].pop('put-in') and None,
     'actions: nothing about put-in'),
    ('prompts.yaml', lambda d: d['actions'].update(fly={}), r'actions.fly.about is missing'),
    ('prompts.yaml', lambda d: d['actions']['open'].pop('about') and None,
     'actions.open.about is missing'),
    ('prompts.yaml', lambda d: d['actions']['open'].update(
        parameters={'container': 'it', 'by': 'it'}),
     'actions.open.parameters: must name the 1 parameters'),
    ('prompts.yaml', lambda d: d['actions']['open'].update(parameters={'A b': 'x'}),
     r'actions.open.parameters.A b'),
    ('prompts.yaml', lambda d: d['actions']['open'].update(phrase='open {it}'),
     r'actions.open.phrase = .*: unknown placeholder \{it\} \(known: container'),
    ('prompts.yaml', lambda d: d['actions']['open'].update(effects='it opens'),
     "actions.open.effects = 'it opens'"),
    ('prompts.yaml', lambda d: d.update(facts={'at': '{2}'}), 'facts.at: bad placeholder'),
    ('prompts.yaml', lambda d: d.update(privileged_facts=['at']), r"privileged_facts = \['at'\]"),
    ('prompts.yaml', lambda d: d.update(privileged_facts={'only': True}),
     'privileged_facts.only is unknown'),
    ('prompts.yaml', lambda d: d.update(privileged_facts={'predicates': ['on']}),
     r"privileged_facts.predicates: unknown name 'on' .*known: at, isopen"),
    ('prompts.yaml', lambda d: d.update(privileged_facts={'only_true': 'yes'}),
     "privileged_facts.only_true = 'yes'"),
    ('prompts/plan.yaml', lambda d: None, 'plan.yaml:1: kind is missing'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like='plan'), 'like = .plan'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like=['plan'], system='{x}'),
     r'plan.yaml:1: system = .*: unknown placeholder \{x\}'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like=['plan'], before_image='Go'),
     r'none of them has \{actions\}'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like=['plan'], max_tokens=0),
     'max_tokens = 0'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like=['plan'], single='yes'),
     "single = 'yes'"),
    ('prompts/plan.yaml', lambda d: d.update(
        kind='planning', like=['plan'], outcomes={'empty': ''}),
     'outcomes.executed is missing'),
    ('prompts/plan.yaml', lambda d: d.update(
        kind='planning', like=['plan'], outcomes={b.value: '{block}' for b in Became}),
     r'outcomes.executed = .*: unknown placeholder \{block\}'),
    ('prompts/plan.yaml', lambda d: d.update(kind='planning', like=['plan'], other=1),
     'other is unknown'),
    ('prompts/a.yaml', lambda d: d.update(kind='questions', like=['b']), 'b.yaml:1: cannot be'),
    ('prompts/a.yaml', lambda d: d.update(kind='questions'), 'a.yaml:1: system is missing'),
    ('prompts/ground.yaml', lambda d: d.update(kind='questions', like=['ground'], question='?'),
     r'question = .*: has no \{question\}'),
    ('prompts/memory.yaml', lambda d: d.update(kind='memory', memory={'pair': ''}),
     'memory.failed is missing'),
])
def test_what_is_wrong_with_a_file_is_told_when_the_domain_is_loaded(tmp_path, file, change,
                                                                     message):
    with pytest.raises(DomainError, match=message):
        Domain(changed(tmp_path, file, change))


def test_templates_that_are_like_each_other_are_refused(tmp_path):
    folder = changed(tmp_path, 'prompts/a.yaml', lambda d: d.update(kind='memory', like=['b']))
    (folder / 'prompts' / 'b.yaml').write_text('kind: memory\nlike: [a]\n')
    with pytest.raises(DomainError, match='without a circle'):
        Domain(folder)


# The command

def test_the_command_prints_what_a_model_gets(capsys):
    assert main(['prompts', '--method', 'plan_cot', '--split', 'hard']) == 0
    text = capsys.readouterr().out
    prompt = BLOCKS.planning_prompt('plan_cot', BLOCKS.split_problems('hard')[0],
                                    stops_at_goal=True)
    assert prompt.system in text and prompt.before_image in text and prompt.sha256 in text


def test_the_command_prints_questions_and_memories(capsys):
    assert main(['prompts', 'blocksworld', '--method', 'ground_mem']) == 0
    text = capsys.readouterr().out
    assert text.count('Question: Is the') == 56 + 6 and 'had planned to move' in text
    assert main(['prompts', '--method', 'ground']) == 0
    assert 'had planned' not in capsys.readouterr().out


def test_the_command_shows_what_the_suite_grants(capsys):
    assert main(['prompts', 'household', '--split', 'medium', '--privileged', 'none']) == 0
    plain = capsys.readouterr().out
    assert 'Known facts' not in plain
    assert main(['prompts', 'household', '--split', 'medium']) == 0
    more = set(capsys.readouterr().out.splitlines()) - set(plain.splitlines())
    assert '# Known facts' in more and any('inside' in line for line in more)


def test_the_command_goes_on_as_the_replies_say(capsys):
    reply = '{"action": "moveblock", "parameters": {"block": "none"}}'
    assert main(['prompts', '--method', 'action', '--requests', '3', '--reply', reply,
                 '--reply', 'what?']) == 0
    first, second, third = capsys.readouterr().out.split('#### request ')[1:]
    assert 'Nothing yet.' in first and 'its parameters are' in second
    assert '2. (no action): the reply was not JSON' in third and '#### system, as before' in third
    assert main(['prompts', '--method', 'oracle']) == 2
    assert "'oracle' sends a model no text" in capsys.readouterr().err


def test_an_object_without_other_words_is_listed_with_its_type():
    domain = load_domain('household')
    problem = domain.split_problems('simple')[0]
    lines = domain.planning_prompt('plan', problem).before_image.splitlines()
    assert [line for line in lines if line in {
        f'- {name} ({kind})' for name, kind in problem.objects.items()}] == [
        f'- {name} ({kind})' for name, kind in problem.objects.items()]


def test_the_command_takes_a_problem_file(tmp_path, capsys):
    path = tmp_path / 'mine.pddl'
    path.write_text(BLOCKS.write_problem(two_blocks()))
    assert main(['prompts', '--problem', str(path), '--method', 'action']) == 0
    assert 'needs to be on top of the red block' in capsys.readouterr().out
    assert main(['prompts', '--problem', str(tmp_path / 'none.pddl')]) == 2
    assert 'none.pddl: cannot be read (No such file' in capsys.readouterr().err
