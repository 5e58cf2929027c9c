"""``sightplan constraints``: what it prints, and its exit codes."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from doubles import MemoryWorld
from sightplan import runs
from sightplan.cli import main
from sightplan.domains import load_domain
from sightplan.model import Atom
from sightplan_belief.constraints import read_constraints

DOMAIN = load_domain('blocksworld')
FEW = ('--problems', '3', '--rollouts', '1', '--steps', '15')


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main(['constraints', *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def check(capsys, *arguments: object) -> tuple[int, dict]:
    code, out, _ = run(capsys, 'check', *FEW, *arguments, '--json')
    return code, json.loads(out.splitlines()[-1])


@pytest.fixture
def rules(tmp_path):
    def write(*lines: str):
        path = tmp_path / 'rules.yaml'
        path.write_text('rules:\n' + ''.join(
            f'- name: rule {i}\n  {line}\n' for i, line in enumerate(lines)))
        return path

    return write


def test_the_domain_s_own_rules_hold(capsys) -> None:
    code, out, err = run(capsys, 'check', *FEW)
    assert code == 0 and 'every block is in' in out and 'BROKEN' not in out
    assert 'the rules allow 120 states, 120 can be reached' in ' '.join(out.split())
    assert 'problems in the model: 3' in err
    code, report = check(capsys, '--split', 'simple')
    assert code == 0 and report['ok'] and report['sha256'] == read_constraints(DOMAIN).sha256
    assert len(report['rules']) == 11 and report['settings']['splits'] == ['simple']
    for rule in report['rules']:
        assert rule['model']['cases'] > 0 and rule['model']['broken'] == 0 and rule['ok']
        assert rule['model']['low'] == 0 < rule['model']['high'] < .2 and rule['world'] is None
    assert report['completeness'] == {'problem': 'problem_00', 'allowed': 120, 'reachable': 120,
                                      'forbidden': 0, 'limit': 5000, 'exact': True}


def test_a_broken_hard_rule_is_shown_with_an_example(capsys, rules) -> None:
    path = rules('acyclic: on', "if: ['on(?x, ?y)']\n  then: ['clear(?x)']")
    code, report = check(capsys, '--constraints', path)
    assert code == 1 and not report['ok']
    assert [rule['verdict'] for rule in report['rules']] == ['holds', 'broken']
    broken = report['rules'][1]
    assert 0 < broken['model']['broken'] < broken['model']['cases']
    atoms = broken['example']['atoms']
    on, = (atom for atom in atoms if atom.startswith('on '))
    assert atoms == {on: True, f'clear {on[3:].split(",")[0]}': False}
    assert report['rules'][0]['example'] is None and report['completeness']['forbidden'] > 0
    code, out, _ = run(capsys, 'check', *FEW, '--constraints', path)
    assert code == 1 and 'BROKEN' in out and '"rule 1" is broken in problem_' in out


def test_how_each_problem_begins_is_looked_at(capsys, rules, monkeypatch) -> None:
    """Also of those for which no rollouts are asked for."""
    domain = load_domain('blocksworld')
    problems = domain.split_problems('simple')
    wrong, block = next((problem, atom) for problem in problems for atom in problem.init
                        if atom.predicate == 'on')
    impossible = replace(wrong, init=wrong.init | {Atom('on', block.args[::-1])})

    class Spoilt(type(domain)):
        def split_problems(self, split):
            return [impossible if one is wrong else one for one in problems]
    spoilt = copy.copy(domain)
    monkeypatch.setattr(type(domain), 'split_problems', Spoilt.split_problems)
    monkeypatch.setattr('sightplan_belief.commands.constraints.load_domain', lambda name: spoilt)
    path = rules('acyclic: on')
    for seed in range(3):
        code, report = check(capsys, '--constraints', path, '--split', 'simple', '--seed', seed)
        assert code == 1 and report['rules'][0]['verdict'] == 'broken'
        assert report['rules'][0]['example']['problem'] == wrong.name
        assert report['problems'] == len(problems)


def test_a_soft_rule_must_declare_about_the_measured_rate(capsys, rules) -> None:
    rule = "if: ['on(?x, ?y)']\n  then: ['clear(?x)']\n  violation_rate: "
    _, report = check(capsys, '--constraints', rules(rule + '.01'))
    measured = report['rules'][0]
    assert measured['verdict'] == 'off' and not report['ok'] and measured['example'] is None
    rate = measured['model']['rate']
    assert measured['model']['low'] < rate < measured['model']['high'] < .5
    code, report = check(capsys, '--constraints', rules(rule + str(rate)))
    assert code == 0 and report['rules'][0]['verdict'] == 'fits'


def test_a_rule_that_never_applies_is_told(capsys, rules) -> None:
    code, report = check(capsys, '--constraints', rules(
        "if: ['on(?x, ?y)', 'on(?y, ?x)']\n  then: ['clear(?x)']"))
    assert code == 0 and report['rules'][0]['verdict'] == 'not seen'
    assert report['rules'][0]['model']['rate'] is None


class LooseWorld(MemoryWorld):
    """A world in which the block that was moved last is not clear."""

    closed = 0

    def state(self, stamp_ns=None):
        state = super().state(stamp_ns)
        moved = {action.args[0] for action in self.actions[-1:]}
        return frozenset(a for a in state if a.predicate != 'clear' or a.args[0] not in moved)

    def close(self) -> None:
        LooseWorld.closed += 1


def test_the_states_of_the_world_count(capsys, rules, monkeypatch) -> None:
    monkeypatch.setattr(runs, 'make_world', lambda name: MemoryWorld(name))
    code, report = check(capsys, '--world')
    assert code == 0 and report['states']['world'] > 10
    assert all(rule['world']['broken'] == 0 < rule['world']['cases'] for rule in report['rules'])
    monkeypatch.setattr(runs, 'make_world', lambda name: LooseWorld(name))
    code, report = check(capsys, '--world')
    assert code == 1 and LooseWorld.closed == 1
    assert [rule['name'] for rule in report['rules'] if not rule['ok']] == [
        'either exactly one block is on a block, or it is clear']
    # A soft rule is compared with the world, where there is one.
    path = rules("exactly_one: ['on(*, ?b)', 'clear(?b)']\n  violation_rate: .4")
    assert check(capsys, '--constraints', path)[0] == 1
    code, report = check(capsys, '--constraints', path, '--world')
    low, high = (report['rules'][0]['world'][key] for key in ('low', 'high'))
    assert code == 0 and low < .4 < high, (low, high)
    code, out, _ = run(capsys, 'check', *FEW, '--constraints', path, '--world')
    assert code == 0 and 'world' in out and 'fits' in out


def test_a_world_without_truth_is_refused(capsys, monkeypatch) -> None:
    monkeypatch.setattr(runs, 'make_world', lambda name: object())
    code, _, err = run(capsys, 'check', *FEW, '--world')
    assert code == 2 and 'offers no ground truth' in err


@pytest.mark.parametrize(('arguments', 'message'), [
    (('--constraints', 'none.yaml'), 'none.yaml:1: cannot be read'),
    (('--split', 'huge'), "split 'huge' is unknown"),
    (('--problems', '0'), '--problems 0 is out of bounds'),
    (('--limit', '0'), '--limit 0 is out of bounds'),
    (('--failure-probability', '2'), '--failure-probability 2.0 is out of bounds'),
])
def test_wrong_arguments_of_check(capsys, arguments, message) -> None:
    code, out, err = run(capsys, 'check', *arguments)
    assert code == 2 and not out and message in err


def test_nothing_to_check(capsys, tmp_path) -> None:
    (tmp_path / 'empty.yaml').write_text('rules: []')
    code, _, err = run(capsys, 'check', '--constraints', tmp_path / 'empty.yaml')
    assert code == 2 and 'empty.yaml: there are no rules to check' in err


def test_learn_writes_a_proposal_that_check_accepts(capsys, tmp_path) -> None:
    out = tmp_path / 'proposal.yaml'
    code, text, err = run(capsys, 'learn', *FEW, '--split', 'simple', '--out', out, '--json')
    told = json.loads(text.splitlines()[-1])
    assert code == 0 and told['out'] == str(out) and f': {out}' in err
    rules = read_constraints(DOMAIN, out).rules
    assert [rule['name'] for rule in told['rules']] == [rule.name for rule in rules]
    assert told['candidates'] > told['unbroken'] > len(rules) > 5
    assert told['settings']['problems'] == 3
    assert told['rules'][0]['exactly_one'] and told['rules'][0]['training']['cases'] >= 20
    code, report = check(capsys, '--constraints', out)
    assert report['completeness']['allowed'] >= 120
    code, text, err = run(capsys, 'learn', '--out', out)
    assert code == 2 and 'there is such a file' in err


def test_learn_prints_the_proposal(capsys, tmp_path) -> None:
    code, out, err = run(capsys, 'learn', *FEW, '--split', 'simple', '--seed', '3')
    (tmp_path / 'again.yaml').write_text(out)
    assert code == 0 and read_constraints(DOMAIN, tmp_path / 'again.yaml').rules
    assert 'candidates, ' in err and 'seed 3)' in out
    code, _, err = run(capsys, 'learn', *FEW, '--out', tmp_path / 'none' / 'x.yaml')
    assert code == 2 and 'cannot be written' in err
