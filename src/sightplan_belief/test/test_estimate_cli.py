"""``sightplan estimate``: answers in, one consistent state out."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from doubles import TWO_BLOCKS, two_blocks
from sightplan import cli, domains
from sightplan.domains import load_domain
from sightplan.model import Atom, Problem
from sightplan_belief.constraints import instantiate, read_constraints
from sightplan_belief.observation_model import AnswerRates, ObservationModel

OWN_DOMAIN = Path(domains.__file__).parent / 'blocksworld/domain.pddl'
TRUE = two_blocks().init

FOREIGN = """(define (domain lamps) (:types lamp)
  (:predicates (lit ?l - lamp) (next ?l - lamp ?m - lamp))
  (:action push :parameters (?l - lamp) :precondition (not (lit ?l)) :effect (lit ?l)))"""
LAMPS = """(define (problem p) (:domain lamps) (:objects a b - lamp) (:init (lit a) (lit b))
  (:goal (lit b)))"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'p.pddl').write_text(TWO_BLOCKS)
    (tmp_path / 'd.pddl').write_text(OWN_DOMAIN.read_text())
    write(tmp_path / 'a.jsonl', answers())
    return tmp_path


def write(path, entries):
    path.write_text(''.join(json.dumps(entry) + '\n' for entry in entries))


def answers(problem: Problem | None = None, wrong: str = '') -> list[dict[str, object]]:
    """True answers to all questions about a problem's initial state, but one."""
    problem = problem or two_blocks()
    return [{'atom': str(atom),
             'answer': 'yes' if (atom in problem.init) is (str(atom) != wrong) else 'no'}
            for atom in load_domain('blocksworld').model(problem).atoms]


def run(capsys, *arguments: object):
    """Exit code, parsed lines of standard output, standard error."""
    code = cli.main(['estimate', *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, list(map(json.loads, out.splitlines())) if '--json' in arguments else out, err


def atoms(texts) -> frozenset[Atom]:
    return frozenset(map(Atom.parse, texts))


def test_true_answers_give_the_true_state(folder, capsys):
    code, [found], err = run(capsys, '--problem', 'p.pddl', '--domain', 'blocksworld',
                             '--answers', 'a.jsonl', '--json')
    assert (code, err) == (0, '')
    assert set(found) == {'state', 'marginals', 'log_evidence', 'complete', 'seconds'}
    assert atoms(found['state']) == TRUE
    assert found['state'] == sorted(found['state'])
    assert set(found['marginals']) == {a['atom'] for a in answers()}
    assert all((p > 0.5) is (Atom.parse(atom) in TRUE) for atom, p in found['marginals'].items())
    assert found['log_evidence'] < 0 < found['seconds']


def test_where_little_is_known_blocks_that_look_alike_are_equally_likely(folder, capsys):
    """Five blocks: from 512 of their states the probabilities would differ."""
    write(folder / 'a.jsonl', [])
    path = load_domain('blocksworld').split_problems('medium')[0].source
    code, [found], err = run(capsys, '--problem', path, '--answers', 'a.jsonl', '--json')
    assert (code, err, found['complete']) == (0, '', True)
    on = {atom: p for atom, p in found['marginals'].items()
          if atom.startswith('on ') and len(set(atom[3:].split(','))) == 2}
    assert len(on) == 20 and max(on.values()) == pytest.approx(min(on.values()), abs=1e-9)


def test_that_not_all_likely_states_were_listed_is_said(folder, capsys, monkeypatch):
    monkeypatch.setattr('sightplan_belief.estimator.MOST_LISTED', 2)
    write(folder / 'a.jsonl', [])
    arguments = ('--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl')
    code, [found], err = run(capsys, *arguments, '--json')
    assert code == 0 and not found['complete'] and 'are approximate; more answers' in err
    assert 'are approximate' in run(capsys, *arguments)[2]


@pytest.mark.parametrize('wrong', ['on g,r', 'incolumn r,c3', 'clear r', 'on r,r'])
def test_a_wrong_answer_is_put_right(folder, capsys, wrong):
    write(folder / 'a.jsonl', answers(wrong=wrong))
    code, [found], _ = run(capsys, '--problem', 'p.pddl', '--domain-file', 'd.pddl',
                           '--answers', 'a.jsonl', '--json')
    assert code == 0 and atoms(found['state']) == TRUE


def test_the_initial_state_is_no_evidence(folder, capsys):
    found = []
    for init in ('(clear r) (clear g) (incolumn r c1) (incolumn g c3)', '',
                 '(on g r) (on r g) (on r r)'):
        start, end = TWO_BLOCKS.index('(:init'), TWO_BLOCKS.index('(:goal')
        (folder / 'p.pddl').write_text(f'{TWO_BLOCKS[:start]}(:init {init}) {TWO_BLOCKS[end:]}')
        code, [estimate], _ = run(capsys, '--problem', 'p.pddl', '--domain', 'blocksworld',
                                  '--answers', 'a.jsonl', '--json')
        assert code == 0
        found.append({k: v for k, v in estimate.items() if k != 'seconds'})
    assert found[0] == found[1] == found[2] and atoms(found[0]['state']) == TRUE


@pytest.mark.parametrize('lines', [
    [], answers()[:3], [{'atom': 'on r,g', 'answer': 'yes'}, {'atom': 'on r,g', 'answer': 'no'}],
    [{'atom': a['atom'], 'answer': 'yes'} for a in answers()],
    [{'atom': a['atom'], 'answer': 'no'} for a in answers()],
    [{'atom': a['atom'], 'answer': None} for a in answers()],
    [{'atom': 'on r,g', 'answer': None}, {'atom': 'on g,r', 'answer': 'I cannot tell'}],
    [{'atom': 'ON R, G', 'answer': 'Yes.', 'p_yes': 1, 'p_no': 0.0, 'image': 7, 'more': {}}]])
def test_whatever_is_answered_the_state_is_possible(folder, capsys, lines):
    write(folder / 'a.jsonl', lines)
    code, [found], _ = run(capsys, '--problem', 'p.pddl', '--domain', 'blocksworld',
                           '--answers', 'a.jsonl', '--json')
    domain = load_domain('blocksworld')
    theory = instantiate(read_constraints(domain), domain.schema, two_blocks().objects)
    assert code == 0 and theory.possible(atoms(found['state']))


def test_images_are_told_apart(folder, capsys):
    def p(*images):
        write(folder / 'a.jsonl', [{'atom': 'on r,g', 'answer': 'yes', 'image': image}
                                   for image in images])
        return run(capsys, '--problem', 'p.pddl', '--domain', 'blocksworld', '--answers',
                   'a.jsonl', '--json')[1][0]['marginals']['on r,g']
    assert p('1') == pytest.approx(p('1', '1', '1'))
    assert p('1') < p('1', '2') < p('1', '2', '3')


def test_a_calibration_changes_the_weights(folder, capsys):
    domain = load_domain('blocksworld')
    blind = AnswerRates(0.5, 0.5, learned='labels')
    ObservationModel(dict.fromkeys(domain.schema.predicates, blind), model='m',
                     questions_sha256=domain.question_hash, domain='blocksworld',
                     learned='labels').write('cal.json')
    call = ('--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl', '--json')
    code, [found], _ = run(capsys, *call, '--calibration', 'cal.json')
    _, [plain], _ = run(capsys, *call)
    assert code == 0 and found['marginals']['on r,g'] < 0.5 < plain['marginals']['on r,g']
    write(folder / 'a.jsonl', [{**answers()[0], 'model': 'another'}])
    code, _, err = run(capsys, *call, '--calibration', 'cal.json')
    assert code == 2 and 'a.jsonl:1' in err and 'another model' in err


def test_without_json_a_table_is_printed(folder, capsys):
    code, out, _ = run(capsys, '--problem', 'p.pddl', '--domain', 'blocksworld',
                       '--answers', 'a.jsonl')
    assert code == 0
    [line] = [line for line in out.splitlines() if line.startswith('on r,g')]
    assert 'true' in line and '0.9' in line and 'log evidence' in out


def test_cases_in_order_with_ids_and_all_forms_of_problems(folder, capsys):
    cases = folder / 'deep' / 'cases.jsonl'
    cases.parent.mkdir()
    (cases.parent / 'near.pddl').write_text(TWO_BLOCKS)
    given = {a['atom']: a['answer'] for a in answers()}
    write(cases, [
        {'id': 'b', 'problem': 'p.pddl', 'answers': given},
        {'id': 7, 'problem': 'near.pddl', 'answers': {}},
        {'id': None, 'problem': TWO_BLOCKS, 'answers': {**given, 'on g,r': None}},
        {'id': 'list', 'answers': answers()}])
    code, found, _ = run(capsys, '--domain', 'blocksworld', '--cases', cases, '--problem',
                         'p.pddl', '--json')
    assert code == 0 and [line['id'] for line in found] == ['b', 7, None, 'list']
    assert all(set(line) == {'id', 'state', 'marginals', 'log_evidence', 'complete', 'seconds'}
               for line in found)
    assert [atoms(line['state']) == TRUE for line in found] == [True, False, True, True]
    assert found[0]['marginals'] == found[3]['marginals']
    code, out, _ = run(capsys, '--domain', 'blocksworld', '--cases', cases, '--problem', 'p.pddl')
    assert code == 0 and len(out.splitlines()) == 4 and out.startswith('b: clear r; ')


def test_k_and_seed_are_settings_of_the_estimator(folder, capsys):
    call = ('--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl', '--json')
    assert run(capsys, *call, '--k', 1, '--seed', 3)[0] == 0
    code, _, err = run(capsys, *call, '--k', 0)
    assert code == 2 and 'k = 0' in err


def test_a_foreign_domain_without_constraints_warns(folder, capsys):
    (folder / 'd.pddl').write_text(FOREIGN)
    (folder / 'p.pddl').write_text(LAMPS)
    write(folder / 'a.jsonl', [{'atom': 'lit a', 'answer': 'no'}, {'atom': 'lit b',
                                                                   'answer': 'yes'}])
    call = ('--problem', 'p.pddl', '--domain-file', 'd.pddl', '--answers', 'a.jsonl', '--json')
    code, [found], err = run(capsys, *call)
    assert code == 0 and 'warning' in err and 'constraints.yaml' in err
    assert 'lit b' in found['state'] and 'lit a' not in found['state']
    assert found['marginals']['lit b'] == pytest.approx(0.9)
    (folder / 'constraints.yaml').write_text(
        'rules: [{name: one is lit, exactly_one: ["lit(*)"]}]\n')
    code, [found], err = run(capsys, *call)
    assert (code, err) == (0, '')
    assert found['marginals']['lit b'] == pytest.approx(0.81 / 0.82)


def test_a_calibration_of_a_foreign_domain_is_known_by_its_name(folder, capsys):
    (folder / 'd.pddl').write_text(FOREIGN)
    (folder / 'p.pddl').write_text(LAMPS)
    (folder / 'constraints.yaml').write_text('rules: []\n')
    write(folder / 'a.jsonl', [{'atom': 'lit a', 'answer': 'yes', 'model': 'm'}])
    call = ('--problem', 'p.pddl', '--domain-file', 'd.pddl', '--answers', 'a.jsonl', '--json',
            '--calibration', 'cal.json')

    def calibrate(domain):
        ObservationModel({'lit': AnswerRates(0.6, 0.4, learned='labels')}, model='m',
                         questions_sha256='0123456789ab', domain=domain,
                         learned='labels').write('cal.json')
    calibrate('lamps')
    code, [found], err = run(capsys, *call)
    assert (code, err) == (0, '') and found['marginals']['lit a'] == pytest.approx(0.6)
    write(folder / 'a.jsonl', [{'atom': 'lit a', 'answer': 'yes', 'model': 'another'}])
    code, _, err = run(capsys, *call)
    assert code == 2 and 'another model' in err
    calibrate('blocksworld')
    code, _, err = run(capsys, *call)
    assert code == 2 and 'another domain' in err and "'lamps'" in err


@pytest.mark.parametrize(('line', 'message'), [
    ('{"atom": "on r,x", "answer": "yes"}', 'on r,x is not an atom'),
    ('{"atom": "inside r,g", "answer": "yes"}', 'inside r,g is not an atom'),
    ('{"atom": "on(r,g", "answer": "yes"}', "'on(r,g'"),
    ('{"answer": "yes"}', 'atom is missing'),
    ('{"atom": "on r,g", "answer": 1}', 'answer = 1'),
    ('{"atom": "on r,g"}', 'answer is missing'),
    ('{"atom": "on r,g", "answer": "yes", "p_yes": 1.5}', 'p_yes = 1.5'),
    ('{"atom": "on r,g", "answer": "yes", "p_no": NaN}', 'p_no = nan'),
    ('{"atom": "on r,g", "answer": "yes", "image": []}', 'image = []'),
    ('[]', 'not a JSON object'), ('{', 'not JSON')])
def test_a_malformed_answer_is_named_and_left_out(folder, capsys, line, message):
    good = '{"atom": "on r,g", "answer": "yes"}\n\n'
    call = ('--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl', '--json')
    found = []
    for more in ('', line + '\n'):
        (folder / 'a.jsonl').write_text(good + more + '{"atom": "clear g", "answer": "no"}\n')
        found.append(run(capsys, *call))
    (whole, [plain], _), (code, [estimate], err) = found
    assert (whole, code) == (0, 1) and 'a.jsonl:3: ' in err and message in err
    assert '1 answers cannot be used' in err
    assert estimate['marginals'] == plain['marginals']


def test_a_calibration_must_be_about_the_answers(folder, capsys):
    """Their model, prompt and wording, as far as they say it; and the domain in any case."""
    home = load_domain('blocksworld')
    call = ('--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl', '--json',
            '--calibration', 'cal.json')
    ours = ObservationModel(
        {'on': AnswerRates(0.6, 0.4, learned='em')}, model='m', learned='em',
        questions_sha256=home.question_hash, prompt='ground@1', domain='blocksworld')
    ours.write('cal.json')
    line = {'atom': 'on r,g', 'answer': 'yes', 'model': 'm', 'prompt': 'ground@1',
            'questions_sha256': home.question_hash}
    write(folder / 'a.jsonl', [line, {'atom': 'clear r', 'answer': 'no'}])
    assert run(capsys, *call)[0] == 0
    for field, value, what in (('model', 'n', 'model'), ('prompt', 'ground_cot@1', 'prompt'),
                               ('questions_sha256', 'old', 'wording')):
        for entry in ({**line, field: value}, {'atom': 'on r,g', 'answer': 'yes', field: value}):
            write(folder / 'a.jsonl', [line, entry])
            code, _, err = run(capsys, *call)
            assert code == 2 and 'a.jsonl:2: ' in err and f'another {what}' in err
    write(folder / 'a.jsonl', [{'atom': 'on r,g', 'answer': 'yes'}])
    for change, what in (({'domain': 'household'}, 'domain'),
                         ({'questions_sha256': 'old'}, 'wording')):
        dataclasses.replace(ours, **change).write('cal.json')
        code, _, err = run(capsys, *call)
        assert code == 2 and f'another {what}' in err


@pytest.mark.parametrize(('case', 'message'), [
    ({'problem': 'p.pddl', 'answers': {}}, '"id"'),
    ({'id': 1, 'answers': {}}, 'problem = None'),
    ({'id': 1, 'problem': 'p.pddl'}, 'answers must be'),
    ({'id': 1, 'problem': 'p.pddl', 'answers': {'on r': 'yes'}}, 'on r is not an atom'),
    ({'id': 1, 'problem': '(define', 'answers': {}}, 'c.jsonl:1')])
def test_a_malformed_case_names_file_and_line(folder, capsys, case, message):
    write(folder / 'c.jsonl', [case])
    code, _, err = run(capsys, '--domain', 'blocksworld', '--cases', 'c.jsonl')
    assert code == 1 and 'c.jsonl:1' in err and message in err


BAD_LINES = [
    ('{"id": 2, "problem": "p.pddl", "answers": {"on r,x": "yes"}}', 'on r,x is not an atom'),
    ('{"id": 3, "problem": "no.pddl", "answers": {}}', 'no.pddl:1: cannot be read'),
    ('{"id": 4, "problem": "p.pddl", "answers": {"on r,g": 1}}', 'answer = 1'),
    ('{"id": 5, "problem": "(define (problem p) (:domain lamps))", "answers": {}}', ':objects'),
    ('{"id": 6', 'is not JSON'), ('[7]', 'is not a JSON object'), ('\udcff', 'is not JSON'),
    ('{"problem": "p.pddl", "answers": {}}', '"id"')]


@pytest.mark.parametrize('domain', [(), ('--domain', 'blocksworld')])
def test_bad_cases_are_named_and_the_others_are_estimated(folder, capsys, domain):
    (folder / 'p.pddl').write_text(TWO_BLOCKS)
    good = '{"id": "good", "problem": "p.pddl", "answers": {"on r,g": "yes"}}'
    lines = [*(line for line, _ in BAD_LINES), good]
    (folder / 'c.jsonl').write_bytes('\n'.join(lines).encode('utf-8', 'surrogateescape'))
    code, found, err = run(capsys, *domain, '--cases', 'c.jsonl', '--json')
    assert code == 1 and [line['id'] for line in found] == ['good']
    messages = err.splitlines()
    assert len(messages) == len(BAD_LINES) + 1
    for number, ((_, wanted), message) in enumerate(zip(BAD_LINES, messages, strict=False), 1):
        assert f'c.jsonl:{number}:' in message and wanted in message
    assert f'{len(BAD_LINES)} of {len(lines)} cases cannot be used' in messages[-1]
    code, out, _ = run(capsys, *domain, '--cases', 'c.jsonl')
    assert code == 1 and out.startswith('good: ') and len(out.splitlines()) == 1


@pytest.mark.parametrize('arguments', [
    ['--k', '0'], ['--calibration', 'no.json'], ['--domain-file', 'no.pddl']])
def test_what_is_wrong_for_all_cases_is_bad_usage(folder, capsys, arguments):
    write(folder / 'c.jsonl', [{'id': 1, 'problem': 'p.pddl', 'answers': {}}])
    code, out, err = run(capsys, '--cases', 'c.jsonl', *arguments)
    assert (code, out) == (2, '') and len(err.splitlines()) == 1


def test_an_unknown_domain_is_bad_usage(folder, capsys):
    write(folder / 'c.jsonl', [{'id': 1, 'problem': 'p.pddl', 'answers': {}}])
    with pytest.raises(SystemExit, match='2'):
        run(capsys, '--cases', 'c.jsonl', '--domain', 'nowhere')
    assert "'nowhere' is unknown; choose one of blocksworld" in capsys.readouterr().err


@pytest.mark.parametrize(('arguments', 'message'), [
    (['--domain', 'blocksworld', '--answers', 'a.jsonl'], '--problem'),
    (['--problem', 'p.pddl', '--domain-file', 'p.pddl', '--answers', 'a.jsonl'], 'p.pddl'),
    (['--problem', 'no.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl'], 'no.pddl'),
    (['--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'no.jsonl'], 'no.jsonl'),
    (['--problem', 'p.pddl', '--domain', 'blocksworld', '--answers', 'a.jsonl',
      '--calibration', 'no.json'], 'no.json')])
def test_bad_usage_is_exit_code_2_with_a_message(folder, capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, '') and message in err


def test_an_unknown_domain_is_named_with_those_that_are_known(folder, capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        run(capsys, '--problem', 'p.pddl', '--domain', 'blocksword', '--answers', 'a.jsonl')
    assert caught.value.code == 2
    assert "domain 'blocksword' is unknown; choose one of blocksworld" in capsys.readouterr().err


def test_a_problem_may_name_its_domain(tmp_path, capsys):
    from sightplan.cli import main
    problem = tmp_path / 'p.pddl'
    problem.write_text('(define (problem p) (:domain Blocksworld) '
                       '(:objects r g - block c1 - column) (:init) (:goal (on r g)))')
    answers = tmp_path / 'a.jsonl'
    answers.write_text('{"atom": "on r,g", "answer": "yes"}\n')
    assert main(['estimate', '--problem', str(problem), '--answers', str(answers), '--json']) == 0
    assert '"on r,g"' in capsys.readouterr().out.split('marginals')[0]
    problem.write_text(problem.read_text().replace('Blocksworld', 'elsewhere'))
    assert main(['estimate', '--problem', str(problem), '--answers', str(answers)]) == 2
    assert f'{problem}: which domain?' in capsys.readouterr().err
