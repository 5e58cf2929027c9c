"""Tables and plots of the belief study from run directories."""

import dataclasses
import json
import random
import re
from pathlib import Path

import pytest
import yaml

import belief_fuzz
import belief_study
import study_document
from belief_fuzz import KINDS, fuzz
from belief_results import (
    Cell,
    Results,
    fewer_questions,
    mean_rate,
    origin,
    overview,
    read_results,
)
from doubles import InsideEngine, MemoryWorld, SearchPlanner
from sightplan.domains import load_domain
from sightplan.metrics import belief_reliability, measures
from sightplan.model import InputError, Verdict
from sightplan.runs import worlds
from sightplan.sweeps import Options, parse_sweep, read_sweep, run_sweep
from sightplan_bench.belief_cost import measure, noisy_answers, random_problem
from study_results import fraction, score

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / 'studies' / 'belief.md'

MAIN = """
base: {episodes: 3, split: simple}
axes:
  kind:
    ground: {method: ground}
    belief: {method: belief, method_options.search: ''}
    blind: {method: blind, method_options.search: ''}
  table: [gpt-4.1, InternVL3-8B]
  failure_probability: [0.0, 0.1]
"""
ABLATIONS = """
base: {episodes: 3, split: simple, method: belief, method_options.search: ''}
axes:
  variant: {full: {}, factorised: {method_options.inference: factorised}}
  table: [gpt-4.1]
  failure_probability: [0.0, 0.1]
"""
PICTURES = """
base: {episodes: 3, split: simple, table: perfect, seed: 7}
axes:
  kind: {ground: {method: ground}, belief: {method: belief, method_options.search: ''}}
  failure_probability: [0.0, 0.1]
exclude: [{kind: ground, failure_probability: 0.1}]
"""
COST = [{'blocks': 3, 'columns': 4, 'error': 0.02, 'answers': 56, 'median_s': 0.01,
         'max_s': 0.02, 'setup_s': 0.005, 'exact': 0.9}]


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """Small sweeps, one as if on pictures, and measured costs."""
    from sightplan.planning import symbolic
    folder = tmp_path_factory.mktemp('runs')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, 'make_world', lambda name, options=None: MemoryWorld())
        patch.setattr(symbolic, 'FastDownwardPlanner', lambda settings=None: SearchPlanner())
        for name, text in (('main', MAIN), ('parts', ABLATIONS), ('pictures', PICTURES)):
            result = run_sweep(parse_sweep(yaml.safe_load(text), name, name), folder,
                               Options(1, engine=InsideEngine))
            assert result['done'] == result['episodes'] and not result['failed_infrastructure']
    index = json.loads((folder / 'pictures.sweep.json').read_text())
    for cell in index['cells']:
        cell['settings'] |= {'backend': 'embedded', 'backend_options': {}}
    (folder / 'pictures.sweep.json').write_text(json.dumps(index))
    (folder / 'cost.json').write_text(json.dumps(COST))
    (folder / 'fuzz.json').write_text(json.dumps(fuzz(len(KINDS), 0)))
    return folder


def without_tables(text):
    return re.sub(r'(<!-- table \S+ -->\n).*?(<!-- end -->)', r'\1\2', text, flags=re.DOTALL)


def blank(tmp_path):
    """Write the shipped document without any table."""
    (tmp_path / 'belief.md').write_text(without_tables(DOCUMENT.read_text()))


def rows(document, name):
    """Cells of a table of the document, without its head."""
    body = re.search(rf'<!-- table {name} -->\n(.*?)<!-- end -->', document, re.DOTALL).group(1)
    lines = [line for line in body.splitlines() if line.startswith('|')]
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines[2:]]


def test_everything_is_regenerated_into_the_shipped_document(runs, tmp_path, capsys):
    blank(tmp_path)
    assert belief_study.main([str(runs), '--out', str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert 'for want of results' not in said
    document = (tmp_path / 'belief.md').read_text()
    assert without_tables(document) == without_tables(DOCUMENT.read_text())
    for name in ('success', 'questions', 'reliability', 'ablations', 'cost'):
        picture = (tmp_path / 'belief' / f'{name}.png').read_bytes()
        assert picture.startswith(b'\x89PNG') and len(picture) > 5_000
    assert {row[1] for row in rows(document, 'success-0')} == {'`ground`', '`belief`', '`blind`'}
    assert rows(document, 'success-0')[-1][:2] == ['(none)', '`blind`']
    assert len(rows(document, 'success-0.1')) == len(rows(document, 'effort-0')) == 5
    assert [row[0] for row in rows(document, 'ablations')] == ['full', 'factorised']
    assert rows(document, 'cost') == [['3', '4', '56', '2%', '10.0', '20.0', '.90', '5.0']]
    assert '45 episodes in 15 runs' in document  # 10, 4 of which 2 are in both sweeps, and 3
    assert [row[:4] for row in rows(document, 'embedded')] == [
        ['no failures', 'simple', '`ground`', '3'], ['no failures', 'simple', '`belief`', '3'],
        ['10% of the actions fail', 'simple', '`belief`', '3']]
    assert rows(document, 'embedded')[0][4] == '1.00 (.44–1.00)'
    assert document.count('embedded |') == 0 and 'mean of 2 models' in document
    assert [row[0] for row in rows(document, 'fuzz')] == [*KINDS, 'all']
    assert rows(document, 'fuzz')[-1][1:5] == ['8', '0', '0', '0']
    again = document
    assert belief_study.main([str(runs), '--out', str(tmp_path)]) == 0
    assert (tmp_path / 'belief.md').read_text() == again


def test_the_same_results_give_the_same_pictures(runs, tmp_path):
    pictures = []
    for name in 'ab':
        folder = tmp_path / name
        folder.mkdir()
        blank(folder)
        belief_study.regenerate([runs], folder)
        pictures.append([p.read_bytes() for p in sorted((folder / 'belief').iterdir())])
    assert pictures[0] == pictures[1] and len(pictures[0]) == 5


def test_figures_are_those_of_the_episodes(runs, tmp_path):
    results = read_results([runs])
    [cell] = [c for c in results.main if (c.method, c.model, c.failure) == (
        'ground', 'gpt-4.1', 0.0)]
    found = score(cell.lines)
    assert found.n == 3 and found.rate == sum(measures.solved(line) for line in cell.lines) / 3
    assert found.low < found.rate or found.rate == 0.0
    assert found.questions == sum(line['questions'] for line in cell.lines) / 3
    blank(tmp_path)
    belief_study.regenerate([runs], tmp_path)
    document = (tmp_path / 'belief.md').read_text()
    [row] = [r for r in rows(document, 'success-0') if r[:2] == ['gpt-4.1', '`ground`']]
    assert row[2].startswith(fraction(found.rate))


def test_what_there_are_no_results_of_is_left_as_it_is(runs, tmp_path):
    blank(tmp_path)
    belief_study.regenerate([runs], tmp_path)
    only = tmp_path / 'only'
    only.mkdir()
    index = json.loads((runs / 'main.sweep.json').read_text())
    index['cells'] = [c for c in index['cells'] if not c['settings']['failure_probability']]
    for cell in index['cells']:
        (only / cell['dir']).symlink_to(runs / cell['dir'])
    (only / 'main.sweep.json').write_text(json.dumps(index))
    before = (tmp_path / 'belief.md').read_text()
    said = belief_study.regenerate([only], tmp_path)
    assert ('left as they are, for want of results: success-0.1, embedded, effort-0.1, ablations, '
            'cost, fuzz') in '\n'.join(said)
    after = (tmp_path / 'belief.md').read_text()
    assert rows(after, 'ablations') == rows(before, 'ablations') != []


def test_wrong_use_is_explained(runs, tmp_path, capsys):
    assert belief_study.main([str(tmp_path), '--out', str(tmp_path)]) == 2
    assert 'holds no sweep' in capsys.readouterr().err
    assert belief_study.main([str(runs), '--out', str(tmp_path)]) == 2
    assert 'belief.md: cannot be read' in capsys.readouterr().err
    with pytest.raises(InputError, match='no finished episodes; make some with "sightplan sweep'):
        origin(Results(()))
    with pytest.raises(InputError, match='no place for cost'):
        study_document.fill('text', {'cost': '| |'}, 'belief.md')


def test_the_shipped_document_has_a_place_for_all_that_the_shipped_sweeps_give():
    names = set(study_document.names_of(DOCUMENT.read_text()))
    failures = {cell.settings.failure_probability
                for cell in read_sweep(ROOT / 'config' / 'sweeps' / 'belief.yaml').cells}
    assert names == {'origin', 'overview', 'questions', 'reliability', 'ablations', 'cost',
                     'embedded', 'fuzz',
                     *(f'{kind}-{f:g}' for kind in ('success', 'effort') for f in failures)}


def made(method, model, solved, questions, backend='noisy_oracle', split='hard'):
    """A cell of episodes 0, 1, ..., solved or not."""
    return Cell(f'{method}-{model}', method, backend, model, split, 0.0, '', tuple(
        {'id': str(i), 'cluster': str(i), 'measures': {'solved': float(s)},
         'questions': q, 'steps': 4, 'seconds': 1.0}
        for i, (s, q) in enumerate(zip(solved, questions, strict=True))), len(solved))


def test_each_model_counts_the_same_in_a_mean():
    cells = (made('ground', 'a', [1] * 8, [9] * 8), made('ground', 'b', [1, 0], [9, 9]),
             made('ground', 'pictures', [0] * 6, [9] * 6, 'embedded'))
    assert mean_rate(cells[:2], method='ground').startswith('.75 (')  # 9 of 10 episodes
    assert mean_rate(cells, method='belief') == '–'
    text = overview(Results(cells))
    assert '`ground` (mean of 2 models)' in text and '| .75 (' in text


def test_questions_are_compared_where_both_solve():
    cells = (made('ground', 'a', [1, 1, 0], [100, 60, 1]),
             made('belief', 'a', [0, 1, 1], [1, 20, 1]),
             made('ground', 'b', [1, 1, 1], [50, 70, 60]),
             made('belief', 'b', [1, 1, 1], [0, 0, 0]),
             made('belief', 'pictures', [1], [5], 'embedded'),
             made('ground', 'pictures', [1], [5], 'embedded'))
    body = [line.split(' | ') for line in fewer_questions(Results(cells)).splitlines()[2:]]
    assert [row[1:] for row in body] == [
        ['a', '60.0 → 20.0 (3.0 times, n = 1) |'], ['b', '60.0 → 0.0 (n = 3) |'],
        ['all models', '60.0 → 5.0 (12.0 times, n = 4) |']]


def test_evidence_of_any_kind_gives_a_possible_state(tmp_path, runs, monkeypatch, capsys):
    found = fuzz(3 * len(KINDS), 1)
    assert list(found['kinds']) == list(KINDS) and found['faults'] == []
    assert found['all']['cases'] == 24 and 0.0 < found['all']['median_s'] <= found['all']['max_s']
    assert all(kind['cases'] == 3 for kind in found['kinds'].values())
    assert {key: found['all'][key] for key in ('impossible', 'out_of_bounds', 'exceptions')} == (
        dict.fromkeys(('impossible', 'out_of_bounds', 'exceptions'), 0))

    class Faulty(belief_fuzz.Estimator):
        def estimate(self, evidence):
            if all(e.answer.verdict is Verdict.YES for e in evidence[:1]):
                raise ValueError('a defect')
            good = super().estimate(evidence)
            atom = next(iter(good.state))
            return dataclasses.replace(good, state=frozenset(self.atoms),
                                       marginals={**good.marginals, atom: 1.0})
    monkeypatch.setattr(belief_fuzz, 'Estimator', Faulty)
    bad = fuzz(len(KINDS), 1)
    assert bad['kinds']['all yes']['exceptions'] == 1
    assert bad['kinds']['all no']['impossible'] == bad['kinds']['all no']['out_of_bounds'] == 1
    assert 'case 0 of seed 1 (all yes, simple problem_00): ValueError: a defect' in bad['faults']
    copy = tmp_path / 'runs'
    copy.mkdir()
    for path in runs.iterdir():
        (copy / path.name).symlink_to(path) if path.name != 'fuzz.json' else None
    blank(tmp_path)
    call = [str(copy), '--out', str(tmp_path), '--fuzz', '8', '--seed', '1']
    assert belief_study.main(call) == 1
    assert 'a defect' in capsys.readouterr().err
    assert json.loads((copy / 'fuzz.json').read_text())['kinds']['all yes']['exceptions'] == 1
    assert rows((tmp_path / 'belief.md').read_text(), 'fuzz')[0][:5] == [
        'all yes', '1', '0', '0', '1']


def test_what_leaves_nothing_to_chance_comes_once_per_problem():
    kinds = [belief_fuzz._kind(number, 75) for number in range(10_000)]
    counts = {kind: kinds.count(kind) for kind in KINDS}
    assert list(counts.values())[:3] == [75] * 3
    assert max(list(counts.values())[3:]) <= 1.01 * min(list(counts.values())[3:])


def test_kinds_of_evidence_are_what_they_say():
    domain = load_domain('blocksworld')
    problem = domain.split_problems('hard')[0]
    atoms = set(domain.model(problem).atoms)
    given = {kind: make(domain, problem, random.Random(3)) for kind, make in KINDS.items()}
    for kind, evidence in given.items():
        asked = {e.atom for e in evidence}
        assert asked <= atoms and (len(asked) <= len(atoms) / 10 if kind == 'sparse'
                                   else asked == atoms)
    for kind, images in (('one image', 1), ('several images', 5)):
        repeats = given[f'contradictory, {kind}']
        assert len({e.image for e in repeats}) == images
        for atom in atoms:
            said = {e.answer.verdict for e in repeats if e.atom == atom}
            assert {Verdict.YES, Verdict.NO} <= said
    assert {e.answer.verdict for e in given['random']} == set(Verdict)


def test_reliability_of_what_was_believed():
    sure, unsure = [[0, 0.0, 0] for _ in range(20)], [[0, 0.0, 0] for _ in range(20)]
    sure[0], sure[19] = [90, 0.9, 0], [10, 9.9, 10]
    unsure[10] = [10, 5.2, 2]
    lines = [{'cluster': name, 'beliefs': held} for name, held in (
        ('a', sure), ('b', unsure), ('c', []))]
    assert belief_reliability(lines).ece == pytest.approx((0.9 + 0.1 + 3.2) / 110)
    assert belief_reliability(lines, inner=True).ece == pytest.approx(0.32)
    assert belief_reliability([{'beliefs': []}]) is None


def test_costs_are_measured_on_states_of_any_size():
    [found] = measure(sizes=((12, 6),), errors=(0.02,), cases=2)
    assert (found['answers'], found['blocks']) == (300, 12)
    assert 0.0 < found['median_s'] <= found['max_s'] and 0.0 <= found['exact'] <= 1.0


def test_noisy_answers_are_as_often_wrong_as_told():
    domain, rng = load_domain('blocksworld'), random.Random(1)
    problem = random_problem(domain, 12, 6, rng, 'p')
    answers = [a for _ in range(10) for a in noisy_answers(domain, problem, 0.1, rng)]
    wrong = sum((a.answer.verdict.value == 'yes') is not (a.atom in problem.init) for a in answers)
    assert len(answers) == 3000 and abs(wrong / 3000 - 0.1) < 0.02
