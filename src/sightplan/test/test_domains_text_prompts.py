"""Prompts from a folder: text files as a clone of a paper's repository has them, or templates.

The texts here are invented; only their form is that of published files.
"""

import json

import pytest

from doubles import two_blocks
from sightplan.agent.asking import AskingForm
from sightplan.cli import main
from sightplan.domains import Became, Domain, MemoryOf, load_domain
from sightplan.domains.text_prompts import NAMES
from sightplan.model import Action, Atom, DomainError, InputError, PastStep
from sightplan.planning.visual import read_proposal
from sightplan.runs import EpisodePlan, RunSettings

GROUND = '<system>\nYou judge toys.\n</system>\n<user>\n{image}\n'
COT = ('<system>\nYou judge toys. <explanation>Why</explanation> <answer>Yes</answer>\n</system>\n'
       '<user>\nToys.\n\n{image}\n')
PLAN = """<system>
Reply as
{
  "plan": [{"action": name, "parameters": {key: value}}, ...]
}
</system>
<user>
## Toys
Small ones.

## More to know
{privileged_info}

## Reach
{goal_string}

## Done
{previous_actions}

## Now
{image}
</user>
"""
ACTION = PLAN.replace('"plan": [{"action"', '"action"').replace('}, ...]', '')
MEMORY = """kind: memory
memory:
  pair: '- {question} / {answer}'
  failed: |
    Before:
    {pairs}
    {call} went wrong.
  withheld: '{call} was called off.'
  unobserved: '{call} went wrong, unseen.'
"""
MOVE = Action('moveblock', ('r', 'c2'))


def reasons(text):
    return text.replace('"plan"', '"explanation": why, "plan"').replace(
        '{"action"', '{"explanation": why, "action"') if '"plan"' in text else text.replace(
        '"action"', '"explanation": why, "action"', 1)


def without_facts(text):
    return text.replace('## More to know\n{privileged_info}\n\n', '')


FILES = {'prompt.md': GROUND, 'prompt_cot.md': COT, 'vila.md': PLAN, 'vila_cot.md': reasons(PLAN),
         'next.md': ACTION, 'next_cot.md': reasons(ACTION)}


@pytest.fixture
def clone(tmp_path):
    """Return a folder as the authors' repository may be: prompts below code, results, hidden."""
    root = tmp_path / 'clone'
    for domain in ('blocksworld', 'igibson'):
        folder = root / 'code/prompts' / domain
        folder.mkdir(parents=True)
        for name, text in FILES.items():
            told = text if domain == 'igibson' else without_facts(text)
            (folder / name).write_text(told.replace('toys', f'toys of {domain}'))
    (root / '.git').mkdir()
    (root / '.git/prompt.txt').write_text(GROUND)
    (root / 'README.md').write_text('A file has <system> and <user>.')
    (root / 'memory.yaml').write_text(MEMORY)
    return root


def blocks(folder):
    """Return the domain blocksworld with the prompts of a folder."""
    return load_domain('blocksworld', prompts=folder)


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f'{name}.txt').write_text(text)
    return folder


@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_a_clone_has_the_prompts_of_all_eight_methods(clone, domain):
    found = load_domain(domain, prompts=clone)
    assert set(NAMES) <= set(found.prompt_names)
    assert len({found.prompt_hash(name) for name in NAMES}) == 8
    theirs = {'blocksworld': 'blocksworld', 'household': 'igibson'}[domain]
    for name in NAMES:
        if name.startswith('ground'):
            prompt = found.grounding_prompt(name)
            assert f'toys of {theirs}' in prompt.system
        else:
            prompt = found.planning_prompt(name, found.split_problems('simple')[0])
            assert prompt.single is name.startswith('action')
        assert prompt.reasoning is name.endswith('_cot')
        assert prompt.max_tokens == 1024


def test_a_prompt_without_closing_tag_loses_the_question_mark(clone, tmp_path):
    asked = blocks(clone).grounding_prompt('ground')
    assert asked.ask('Is it so?') == 'Is it so'
    closed = blocks(write(tmp_path / 'closed', ground=GROUND + '</user>\n'))
    assert closed.grounding_prompt('ground').ask('Is it so?') == 'Is it so?'
    named = blocks(write(tmp_path / 'named', ground=GROUND + 'Q: {question}\nA:</user>'))
    assert named.grounding_prompt('ground').ask('Is it so?') == 'Is it so?\nA:'
    assert named.grounding_prompt('ground').after_image == 'Q:'


def test_the_text_stands_around_the_picture_as_in_the_file(clone):
    prompt = blocks(clone).grounding_prompt('ground_cot')
    assert (prompt.before_image, prompt.after_image) == ('Toys.', '')
    planned = blocks(clone).planning_prompt('plan', two_blocks())
    assert planned.system.startswith('Reply as\n{\n  "plan": [{"action"')
    assert planned.before_image.endswith('## Done\n[]\n\n## Now') and not planned.after_image


def test_earlier_actions_are_a_json_list(clone):
    domain = blocks(clone)
    history = (PastStep(str(MOVE), domain.became('plan', Became.EXECUTED)),
               PastStep(str(MOVE), domain.became('plan', Became.REJECTED)),
               PastStep('fly(x)', domain.planning_prompt('plan', two_blocks()).became(
                   Became.UNKNOWN_ACTION)))
    text = domain.planning_prompt('plan', two_blocks(), history).before_image
    there = json.loads(text.split('## Done\n')[1].split('\n\n## Now')[0])
    move = {'action': 'moveblock', 'parameters': {'block': 'r', 'column': 'c2'}}
    assert there == [
        {**move, 'outcome': 'success', 'info': 'success'},
        {**move, 'outcome': 'failure', 'info': 'not legal'},
        {'action': 'fly', 'parameters': ['x'], 'outcome': 'failure',
         'info': 'action does not exist'}]
    home = load_domain('household', prompts=clone)
    done = PastStep('grasp(bowl_1)', home.became('plan', Became.EXECUTED))
    text = home.planning_prompt('plan', home.split_problems('simple')[0], (done,)).before_image
    assert '[{"action": "grasp", "parameters": ["bowl_1"], "outcome": "executed"}]' in text


def test_replies_are_read_between_braces_with_the_parameters_that_the_files_ask_for(clone):
    home = load_domain('household', prompts=clone)
    for domain, problem, action, listed in (
            (home, home.split_problems('simple')[0], 'navigate-to(cabinet_1)', True),
            (blocks(clone), two_blocks(), str(MOVE), False)):
        name, _, args = action[:-1].partition('(')
        text = json.dumps({'plan': [{'action': name, 'parameters': args.split(', ')}]})
        prompt = domain.planning_prompt('plan', problem)
        found = read_proposal(text, prompt, domain.prompts.actions, domain.model(problem),
                              between_braces=True)
        assert [str(one) for one in found.actions] == ([action] if listed else [])


def test_question_marks_are_cut_once(clone):
    prompt = AskingForm(question_mark=False).prompt(blocks(clone).grounding_prompt('ground'))
    assert prompt.ask('Is it so?') == 'Is it so'


def test_the_section_of_privileged_facts_is_left_out_without_any(clone):
    home = load_domain('household', prompts=clone)
    problem = home.split_problems('simple')[0]
    fact = Atom('inside', ('bowl_1', 'cabinet_1'))
    told = home.planning_prompt('plan', problem, privileged_facts={fact: True}).before_image
    assert '## More to know\nthe bowl_1 is inside the cabinet_1\n\n## Reach' in told
    told = home.planning_prompt('plan', problem, privileged_facts={fact: False}).before_image
    assert 'More to know' not in told and 'Small ones.\n\n## Reach' in told


def test_a_memory_stands_between_picture_and_question(clone):
    domain = blocks(clone)
    memory = domain.memory('ground_mem', MemoryOf.FAILED, MOVE, [('Is it so?', 'Yes')])
    assert memory == 'Before:\n- Is it so? / Yes\nmoveblock(r, c2) went wrong.'
    assert domain.grounding_prompt('ground_mem', memory).after_image == memory
    assert domain.grounding_prompt('ground_mem').after_image == ''


def test_doubled_braces_of_a_format_string_are_single_ones(tmp_path):
    text = '<system>Reply {{"action": {{"a": 1}}}}</system><user>{goal} {history} {image}</user>'
    domain = blocks(write(tmp_path, action=text))
    assert domain.planning_prompt('action', two_blocks()).system == 'Reply {"action": {"a": 1}}'
    nested = text.replace('{{', '{').replace('}}', '}')
    domain = blocks(write(tmp_path / 'single', action=nested))
    assert domain.planning_prompt('action', two_blocks()).system == 'Reply {"action": {"a": 1}}'


@pytest.mark.parametrize('written', ['{{goal_string}}', '{{ goal_string }}', '{ goal_string }'])
def test_placeholders_of_other_template_languages_are_filled(tmp_path, written):
    text = without_facts(PLAN)
    asked = [blocks(write(tmp_path / name, plan=one)).planning_prompt('plan', two_blocks())
             for name, one in (('a', text), ('b', text.replace('{goal_string}', written)))]
    assert asked[0].after_image == asked[1].after_image
    assert asked[0].before_image == asked[1].before_image


@pytest.mark.parametrize('encoding', ['latin-1', 'utf-16'])
def test_a_prompt_file_in_another_encoding_is_named(tmp_path, encoding):
    path = tmp_path / 'ground.txt'
    path.write_bytes(GROUND.replace('toys', 'Bär').encode(encoding))
    with pytest.raises(InputError, match=r'ground\.txt: is not in UTF-8 \(save it as UTF-8'):
        blocks(tmp_path)


def test_a_planning_prompt_without_its_goal_is_not_taken_for_one_of_questions(tmp_path):
    text = without_facts(PLAN).replace('{goal_string}', '<goal>')
    with pytest.raises(InputError, match=r'lacks \{goal\} or \{goal_string\}'):
        blocks(write(tmp_path, first=text)).planning_prompt('plan', two_blocks())


def test_a_folder_of_templates_may_be_like_the_text_files_beside_them(clone):
    (clone / 'action.yaml').write_text(
        'kind: planning\nlike: [plan]\nsingle: true\nsystem: One step.\nbefore_image: |\n'
        '  {environment}{actions}{objects}{goal}{privileged_facts}{history}{done}\n')
    for path in clone.rglob('next*.md'):
        path.unlink()
    prompt = blocks(clone).planning_prompt('action', two_blocks())
    assert prompt.single and prompt.system == 'One step.'
    assert prompt.max_tokens == 1024  # of the text file that it is like


@pytest.mark.parametrize(('change', 'words'), [
    ({'ground': GROUND.replace('{image}', '')}, ['ground.txt', '{image} stands 0 times']),
    ({'ground': GROUND + '{image}'}, ['{image} stands 2 times']),
    ({'ground': GROUND + '{colour}'}, ['placeholder {colour} is unknown', 'question']),
    ({'ground': GROUND + 'Question: {}'}, ['ground.txt', 'placeholder {} has no name',
                                           'write {question}']),
    ({'ground': GROUND.replace('toys', '{goal_string}')}, ['{goal_string} is unknown']),
    ({'ground': GROUND.replace('{image}', '{question} {image}')}, ['stands before {image}']),
    ({'ground': GROUND + '<user>'}, ['<user> twice']),
    ({'plan': without_facts(PLAN)}, ['no file for the prompt ground;', 'plan', 'add ground.txt']),
    ({'ground': GROUND, 'a/ground': GROUND}, ['several files', 'copy the right one']),
])
def test_an_unusable_file_is_named_with_the_remedy(tmp_path, change, words):
    (tmp_path / 'a').mkdir()
    domain = blocks(write(tmp_path, **change))
    with pytest.raises(InputError) as caught:
        domain.grounding_prompt('ground')
    for word in ('prompts:' if 'no file' in words[0] else '', *words):
        assert word in str(caught.value), str(caught.value)


def test_a_planning_prompt_must_say_goal_and_history(tmp_path):
    domain = blocks(write(tmp_path, plan=without_facts(PLAN).replace('{previous_actions}', '')))
    with pytest.raises(InputError, match=r'lacks \{previous_actions\}'):
        domain.planning_prompt('plan', two_blocks())
    home = load_domain('household', prompts=write(tmp_path / 'hh', plan=without_facts(PLAN)))
    with pytest.raises(InputError, match=r'lacks \{privileged_info\}'):
        home.planning_prompt('plan', home.split_problems('simple')[0])


def test_a_memory_without_words_is_named(clone):
    (clone / 'memory.yaml').unlink()
    with pytest.raises(InputError, match=r'ground_mem.*memory\.yaml.*pair, failed'):
        blocks(clone).grounding_prompt('ground_mem')
    assert blocks(clone).grounding_prompt('ground').system


def test_a_folder_without_prompts_of_the_domain_is_an_error(clone, tmp_path):
    with pytest.raises(InputError, match='no such folder'):
        blocks(tmp_path / 'none')
    (tmp_path / 'empty').mkdir()
    with pytest.raises(InputError, match='has no prompt files: text files'):
        blocks(tmp_path / 'empty')
    with pytest.raises(InputError, match='no prompt files of domain blocksworld, only of others'):
        blocks(clone / 'code/prompts/igibson')
    (clone / 'memory.yaml').unlink()
    for path in (clone / 'code/prompts/blocksworld').iterdir():
        path.unlink()
    with pytest.raises(InputError, match='only of others'):
        blocks(clone)


@pytest.mark.parametrize('place', ['.', 'code', 'code/prompts', 'code/prompts/blocksworld'])
def test_clone_or_folder_give_the_same_words(clone, place):
    assert 'toys of blocksworld' in blocks(clone / place).grounding_prompt('ground').system


def test_the_identity_of_a_run_tells_folder_hash_and_form(clone, tmp_path):
    plan = EpisodePlan(RunSettings(method='plan', backend='scripted', prompts=str(clone),
                                   backend_options={'script': 'x.yaml'}))
    found = plan.identity('')
    told = found['prompts']
    assert (told['folder'], told['official']) == ('clone', True) and len(told['sha256']) == 12
    assert found['prompt']['sha256'] == plan.domain.prompt_hash('plan')
    assert 'prompts' not in EpisodePlan(RunSettings(method='plan', backend='scripted',
                                                    backend_options={'script': 'x.yaml'})
                                        ).identity('')
    (clone / 'code/prompts/blocksworld/vila.md').write_text(without_facts(PLAN) + '\n')
    again = Domain(plan.domain.folder, prompts=clone)
    assert again.prompts.origin.sha256 != told['sha256']


def test_prompts_shows_what_a_model_would_get(clone, capsys):
    assert main(['prompts', '--method', 'ground', '--prompts', str(clone)]) == 0
    text = capsys.readouterr().out
    assert text.startswith('#### prompts of clone@') and 'You judge toys of blocksworld.' in text
    assert 'Is the blue block on top of the purple block\n' in text
    assert main(['prompts', '--method', 'plan', '--prompts', str(clone / 'x')]) == 2
    assert 'no such folder' in capsys.readouterr().err


def test_domains_of_others_refuse_wrong_code_files(tmp_path):
    from sightplan.domains.text_prompts import PromptFolder
    write(tmp_path / 'clone', ground=GROUND)
    (tmp_path / 'own').mkdir()
    assert PromptFolder(tmp_path / 'clone', tmp_path / 'own').names() == {'ground'}
    (tmp_path / 'own/text_prompts.yaml').write_text(
        'planning: {outcome_keys: [a, b], outcomes: {executed: done}}')
    with pytest.raises(DomainError, match=r'outcomes\.executed'):
        PromptFolder(tmp_path / 'clone', tmp_path / 'own')
