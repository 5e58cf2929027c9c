"""``sightplan calibrate``: from the log of a run to a calibration file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from doubles import MemoryWorld, SearchPlanner
from sightplan import cli
from sightplan.domains import load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import InputError
from sightplan.runs import RunSettings, run
from sightplan_belief.observation_model import read_observation_model

DOMAIN = load_domain('blocksworld')


@pytest.fixture(scope='session')
def logged(tmp_path_factory):
    """Log of a run on twelve generated problems: a table's errors, one move in ten fails."""
    folder = tmp_path_factory.mktemp('calibrate')
    generator = DOMAIN.generator
    settings = generator.Settings(blocks=4, columns=3)
    generator.write_folder(DOMAIN, folder, settings,
                           generator.generate(DOMAIN, settings, 12, 700))
    (folder / 'table.yaml').write_text("""
rates:
  'on': {p_yes_true: 0.9, p_yes_false: 0.03}
  clear: {p_yes_true: 0.95, p_yes_false: 0.2}
  default: {p_yes_true: 0.98, p_yes_false: 0.02, p_unparsed: 0.05}
""")
    run(RunSettings(problems=str(folder), backend='noisy_oracle', out=str(folder / 'run'),
                    backend_options={'table': str(folder / 'table.yaml')}, answers_log=True,
                    failure_probability=0.1, episodes=24),
        world=MemoryWorld(), planner=SearchPlanner())
    return folder / 'run/answers.jsonl'


@pytest.fixture
def go(logged, tmp_path, monkeypatch, capsys):
    """Exit code, report, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, answers=logged):
        code = cli.main(['calibrate', '--answers', str(answers), '--out', 'cal.json',
                         *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, json.loads(out) if '--json' in arguments and code == 0 else out, err
    return call


def lines_of(logged):
    return [json.loads(line) for line in logged.read_text().splitlines()]


def test_the_table_of_the_noise_is_recovered(go, logged):
    code, report, _ = go('--json')
    assert code == 0
    model = read_observation_model('cal.json')
    for name, true, false in (('on', 0.9, 0.03), ('clear', 0.95, 0.2), ('incolumn', 0.98, 0.02)):
        rates = model.rates(name)
        assert rates.yes_true == pytest.approx(true, abs=0.08)
        assert rates.yes_false == pytest.approx(false, abs=0.08)
        assert report['predicates'][name]['yes_true'] == rates.yes_true
        assert report['predicates'][name]['kept'] and report['predicates'][name]['gain'] > 0
    assert model.rates('leftof').unread_true == pytest.approx(0.05, abs=0.03)
    assert model.action('moveblock').no_op == pytest.approx(0.1, abs=0.06)
    assert model.execution_if_inapplicable == pytest.approx(0.001, abs=0.001)
    assert report['all']['ece_learned']['ece'] < 0.02 < report['all']['ece_default']['ece']
    assert model.model.startswith('noisy_oracle(table@') and model.learned == 'labels'
    keys = {line['problem'] for line in lines_of(logged)}
    assert set(model.problems) == keys and len(keys) == 12
    problem = DOMAIN.read_problem(logged.parent.parent / 'problem_00.pddl')
    assert problem_key(problem) in keys


def test_without_labels_nearly_the_same_is_learned(go):
    code, judged, _ = go('--json', '--em')
    assert code == 0 and judged['learned'] == 'em' and judged['iterations'] > 1
    assert judged['predicates']['on']['ece_learned']['ece'] < 0.03
    unlabelled = read_observation_model('cal.json')
    go()
    for name, rates in read_observation_model('cal.json').predicates.items():
        if name in unlabelled.predicates:
            assert unlabelled.rates(name).yes_true == pytest.approx(rates.yes_true, abs=0.05)
            assert unlabelled.rates(name).yes_false == pytest.approx(rates.yes_false, abs=0.07)


def test_answers_without_truth_are_learned_from_without_labels(go, logged, tmp_path):
    bare = tmp_path / 'bare.jsonl'
    bare.write_text(''.join(
        json.dumps({k: v for k, v in line.items() if k != 'truth'}) + '\n'
        for line in lines_of(logged)[:300] if 'atom' in line))
    code, report, _ = go('--json', answers=bare)
    assert code == 0 and report['learned'] == 'em' and report['all']['ece_learned'] is None
    assert read_observation_model('cal.json').learned == 'em'


def test_a_table_is_printed(go):
    code, out, _ = go()
    assert code == 0
    [row] = [line for line in out.splitlines() if line.startswith('on ')]
    assert len(row.split()) == 10
    assert 'moveblock: ' in out and 'written: cal.json' in out
    assert all(len(line) <= 80 for line in out.splitlines()
               if line.startswith(('predicate', 'on ', 'incolumn')))


def test_the_same_answers_are_not_taken_twice(go, logged):
    for more in (['--answers', logged], ['--run', logged.parent]):
        code, _, err = go(*more) if more[0] == '--run' else go('--answers', logged, logged)
        assert code == 2 and 'its answers are given twice' in err


def test_two_files_of_two_models_need_a_choice(go, logged, tmp_path):
    other = tmp_path / 'other.jsonl'
    other.write_text(''.join(json.dumps({**line, 'model': 'b'}) + '\n'
                             for line in lines_of(logged)[:200]))
    code, _, err = go('--answers', other)
    assert code == 2 and "'b'" in err and '--model' in err
    code, report, _ = go('--answers', other, '--model', 'b', '--json')
    assert code == 0 and report['model'] == 'b'
    code, _, err = go('--answers', other, '--model', 'c')
    assert code == 2 and "'c'" in err


@pytest.mark.parametrize(('change', 'message'), [
    ({'domain': 'elsewhere'}, '--domain'), ({'questions_sha256': 'old'}, 'one wording')])
def test_mixtures_are_refused(go, logged, tmp_path, change, message):
    mixed = tmp_path / 'mixed.jsonl'
    lines = [line for line in lines_of(logged) if 'atom' in line][:20]
    mixed.write_text(''.join(json.dumps({**line, **(change if i % 2 else {})}) + '\n'
                             for i, line in enumerate(lines)))
    code, _, err = go(answers=mixed)
    assert code == 2 and message in err and str(mixed) in err


def test_a_mixture_of_many_long_names_is_told_in_a_few_words(go, logged, tmp_path):
    mixed = tmp_path / 'mixed.jsonl'
    line = next(line for line in lines_of(logged) if 'atom' in line)
    mixed.write_text(''.join(json.dumps({**line, 'questions_sha256': f'{i}' + 'x' * 10_000}) + '\n'
                             for i in range(300)))
    code, _, err = go(answers=mixed)
    assert code == 2 and 'one wording' in err and '...' in err and len(err) < 2000


def test_answers_by_hand_need_model_and_domain(go, tmp_path):
    hand = tmp_path / 'hand.jsonl'
    hand.write_text(''.join(json.dumps(
        {'atom': 'clear r', 'answer': 'yes', 'truth': i % 3 > 0, 'episode': i}) + '\n'
        for i in range(9)))
    code, _, err = go(answers=hand)
    assert code == 2 and '--model' in err and 'hand.jsonl:1: ' in err
    code, _, err = go('--model', 'me', answers=hand)
    assert code == 2 and '--domain' in err and 'hand.jsonl:1: ' in err
    code, report, _ = go('--model', 'me', '--domain', 'blocksworld', '--json', answers=hand)
    assert code == 0 and report['questions_sha256'] == DOMAIN.question_hash
    assert report['predicates']['clear']['n_true'] == 6
    read_observation_model('cal.json').check('me', DOMAIN)


@pytest.mark.parametrize(('line', 'message'), [
    ('{"atom": "clear r", "answer": "yes", "truth": 1}', 'truth = 1'),
    ('{"action": "moveblock(r, c1)", "status": "withheld"}', "status = 'withheld'"),
    ('{"action": "moveblock", "status": "executed"}', 'action'),
    ('{"action": "moveblock(r, c1)", "status": "executed", "before": ["clear r"]}', 'after'),
    ('', 'not one answer')])
def test_malformed_files_are_exit_code_2(go, tmp_path, line, message):
    bad = tmp_path / 'bad.jsonl'
    bad.write_text(line + '\n')
    code, _, err = go('--model', 'm', '--domain', 'blocksworld', answers=bad)
    assert code == 2 and 'bad.jsonl' in err and message in err


@pytest.mark.parametrize(('line', 'message'), [
    ('{"atom": "clear r", "answer": "yes", "truth": 1}', 'bad.jsonl:2: truth = 1'),
    ('{"atom": "clear r", "answer": ', 'bad.jsonl:2: is not JSON'),
    ('{"atom": "clear r", "truth": true}', 'bad.jsonl:2: answer is missing'),
    ('{"atom": "clear r", "answer": "maybe", "truth": true}',
     "bad.jsonl:2: answer = 'maybe': write"),
    ('[1]', 'bad.jsonl:2: is not a JSON object'),
    ('{"atom": "inside r,g", "answer": "yes", "truth": true}', 'inside r,g is not an atom'),
    ('{"action": "moveblock", "status": "executed"}', 'bad.jsonl:2: ')])
def test_a_line_that_cannot_be_used_is_named_and_left_out(go, tmp_path, line, message):
    bad = tmp_path / 'bad.jsonl'
    good = '{"atom": "clear r", "answer": "yes", "truth": true}\n'
    call = ('--model', 'm', '--domain', 'blocksworld')
    bad.write_text(good + good.replace('clear r', 'clear g'))
    assert go(*call, answers=bad)[0] == 0
    model = read_observation_model('cal.json')
    bad.write_text(good + line + '\n' + good.replace('clear r', 'clear g'))
    code, _, err = go(*call, answers=bad)
    assert code == 1 and message in err and '1 lines cannot be used' in err
    assert read_observation_model('cal.json') == model


@pytest.fixture(scope='session')
def scripted(tmp_path_factory):
    """Runs a method with a script; its answers are logged beside it, in <method>/answers.jsonl."""
    folder = tmp_path_factory.mktemp('scripted')
    (folder / 'script.yaml').write_text("answers: {default: 'No'}")

    def call(method, **options):
        settings = RunSettings(
            method=method, episodes=2, max_actions=1, backend='scripted', answers_log=True,
            backend_options={'script': str(folder / 'script.yaml')}, method_options=options,
            out=str(folder / '-'.join([method, *options])))
        run(settings, world=MemoryWorld(), planner=SearchPlanner())
        return folder / method / 'answers.jsonl'
    return call


def test_answers_to_one_prompt_are_no_calibration_of_another(go, scripted):
    code, report, _ = go('--json', answers=scripted('ground_cot'))
    assert code == 0 and report['prompt'] == DOMAIN.prompt_id('ground_cot')
    for method in ('belief', 'decode'):
        with pytest.raises(InputError, match="another prompt: it was learned for 'ground_cot@"):
            scripted(method, calibration='cal.json')
    assert go(answers=scripted('ground'))[0] == 0
    for method in ('belief', 'decode'):
        scripted(method, calibration='cal.json')


def test_answers_to_two_prompts_need_a_choice(go, scripted):
    plain, reasoned = scripted('ground'), scripted('ground_cot')
    code, _, err = go('--answers', reasoned, answers=plain)
    assert code == 2 and 'several prompts' in err and '--prompt' in err
    code, report, err = go('--answers', reasoned, '--prompt', 'ground', '--json', answers=plain)
    assert code == 0 and report['prompt'] == DOMAIN.prompt_id('ground')
    assert report['answers'] == sum('"atom"' in line for line in plain.read_text().splitlines())
    code, _, err = go('--prompt', 'ground_mem', answers=plain)
    assert code == 2 and f'only answers to {DOMAIN.prompt_id("ground")}' in err


def test_the_prompt_of_answers_that_name_none(go, logged, tmp_path):
    old = tmp_path / 'old.jsonl'
    old.write_text(''.join(json.dumps({k: v for k, v in line.items() if k != 'prompt'}) + '\n'
                           for line in lines_of(logged)))
    code, report, err = go('--json', answers=old)
    assert code == 0 and report['prompt'] is None and 'say it with --prompt' in err
    assert read_observation_model('cal.json').prompt is None
    for name, prompt in (('none', ''), ('ground', DOMAIN.prompt_id('ground'))):
        code, report, err = go('--json', '--prompt', name, answers=old)
        assert code == 0 and report['prompt'] == prompt and '--prompt' not in err
    code, _, err = go('--prompt', 'grond', answers=old)
    assert code == 2 and 'grond' in err


def test_an_unwritable_target_is_exit_code_2(go, tmp_path):
    (tmp_path / 'cal.json').mkdir()
    code, _, err = go()
    assert code == 2 and 'cal.json' in err


def test_a_run_does_not_load_the_solver():
    # Logging answers must not make every run pay for the estimator's libraries.
    code = 'import sys, sightplan.runs; sys.exit("ortools" in sys.modules)'
    subprocess.run([sys.executable, '-c', code], check=True)


def test_null_is_an_unreadable_answer(go, tmp_path):
    hand = tmp_path / 'hand.jsonl'
    hand.write_text('{"atom": "clear r", "answer": null, "truth": true}\n' * 2)
    code, report, _ = go('--model', 'm', '--domain', 'blocksworld', '--json', answers=hand)
    assert code == 0 and report['answers'] > 0


def test_answers_do_not_go_with_recorded_episodes(go, logged):
    code, _, err = go('--em', '--run', logged.parent)
    assert code == 2 and '--answers' in err and '--em --run' in err


def test_the_first_answer_without_a_model_is_named(go, logged, tmp_path):
    hand = tmp_path / 'hand.jsonl'
    lines = lines_of(logged)[:3]
    hand.write_text(''.join(json.dumps(line) + '\n' for line in lines)
                    + '{"atom": "clear r", "answer": "yes", "domain": "blocksworld"}\n')
    code, _, err = go(answers=hand)
    assert code == 2 and 'hand.jsonl:4: ' in err and '"model"' in err
