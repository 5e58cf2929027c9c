"""Wrong configuration is found before the first episode, and is no error of each."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest

from doubles import PANTRY, TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan import cli
from sightplan.agent import make_policy, method_choices
from sightplan.agent.method_choices import MethodChoices
from sightplan.domains import Domain, load_domain
from sightplan.model import InputError
from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings, check_search
from sightplan.runs import RunSettings, run
from sightplan.runs.method_check import check_method, check_problem, check_starts
from sightplan_belief.observation_model import (
    AnswerRates,
    ObservationModel,
    read_observation_model,
)
from sightplan_belief.priors import FILE, check_calibrations

BLOCKS, HOME = load_domain('blocksworld'), load_domain('household')


def test_what_a_run_reads_of_settings_is_found_by_name_and_may_lack():
    lacking = method_choices('idle')
    assert lacking == MethodChoices() and not lacking.reading and lacking.sequence is None
    assert method_choices('ground', {'reading': True, 'reply_tokens': 9}) == MethodChoices(
        reading=True, reply_tokens=9)
    assert method_choices('log_odds', {'unknown': True}) == MethodChoices('short', unknown=True)


@pytest.fixture
def problems(tmp_path):
    """A folder with one problem of blocksworld."""
    folder = tmp_path / 'problems'
    folder.mkdir()
    (folder / 'p.pddl').write_text(TWO_BLOCKS)
    return folder


@pytest.fixture
def pantry(tmp_path):
    """A domain of one's own."""
    folder = tmp_path / 'pantry'
    shutil.copytree(PANTRY, folder)
    return folder


@pytest.fixture
def foreign(tmp_path):
    """A calibration of another domain, model and wording."""
    path = tmp_path / 'home.json'
    ObservationModel({'open': AnswerRates(0.8, learned='labels')}, model='m',
                     questions_sha256=HOME.question_hash, domain='household',
                     learned='labels').write(path)
    return path


@pytest.mark.parametrize('method', ['belief', 'decode', 'blind'])
def test_malformed_priors_are_refused(pantry, method):
    settings = RunSettings(method=method)
    check_method(settings, Domain(pantry))
    (pantry / FILE).write_text('start: {isopn: {any: 0.5}}')
    with pytest.raises(InputError, match=r"priors.yaml: start.isopn: the domain has no 'isopn'"):
        check_method(settings, Domain(pantry))
    check_method(RunSettings(method='ground'), Domain(pantry))  # which does not read it
    if method != 'decode':
        check_method(RunSettings(method=method, method_options={'priors': False}), Domain(pantry))


def test_a_malformed_calibration_of_the_domain_is_refused(pantry, foreign):
    check_calibrations(BLOCKS)
    (pantry / 'calibrations').mkdir()
    (pantry / 'calibrations/m.json').write_text('{"rejection": 2}')
    with pytest.raises(InputError, match=r'calibrations/m.json: rejection = 2'):
        check_method(RunSettings(method='belief'), Domain(pantry))
    check_method(RunSettings(method='blind'), Domain(pantry))
    check_method(RunSettings(method='belief', method_options={'calibration': str(foreign)}),
                 Domain(pantry))


@pytest.mark.parametrize(('options', 'message'), [
    (['--method-option', 'search=shrt'], "search of method belief = 'shrt' is no search"),
    (['--planner-search', 'shrt'], "planner_search = 'shrt' is no search"),
    (['--planner-search', ''], "planner_search = '' is no search"),
    (['--method-option', 'inference=sampled'], 'inference = sampled does not work')])
def test_a_setting_that_cannot_work_is_bad_usage(problems, tmp_path, capsys, options, message):
    code = cli.main(['run', '--problems', str(problems), '--method', 'belief', '--table',
                     'perfect', '--world-option', 'pictures=none', '--out', str(tmp_path / 'run'),
                     *options])
    assert code == 2 and message in capsys.readouterr().err
    assert not (tmp_path / 'run/episodes.jsonl').exists()


def test_a_start_that_breaks_a_rule_is_bad_usage(problems, tmp_path, capsys):
    path = problems / 'p.pddl'
    path.write_text(TWO_BLOCKS.replace('(:init', '(:init (on r r)'))
    command = ['run', '--problems', str(problems), '--table', 'perfect', '--world-option',
               'pictures=none', '--out', str(tmp_path / 'run'), '--method', 'belief']
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    assert f'{path}: begins in a state that the rule' in error and 'on r,r' in error
    assert not (tmp_path / 'run/episodes.jsonl').exists()
    settings = RunSettings(method='belief', method_options={'constraints': False})
    check_starts(settings, BLOCKS, [('', BLOCKS.read_problem(path))])


@pytest.mark.parametrize('search', ['short', 'optimal', 'lama-first', 'astar(blind())'])
def test_searches_are_known(search):
    check_search(search, 'search')
    for options in ({'search': search}, {'search': ''}):
        check_method(RunSettings(method='belief', method_options=options), BLOCKS)


def test_a_planner_refuses_a_search_that_is_none():
    with pytest.raises(InputError, match="planner: search = 'shrt' is no search; choose .*short"):
        FastDownwardPlanner(PlannerSettings(search='shrt'))


def test_states_are_sampled_where_rules_only_forbid():
    settings = RunSettings(method='belief', method_options={'inference': 'sampled'})
    check_problem(settings, HOME, HOME.split_problems('simple')[0])
    with pytest.raises(InputError, match='blocksworld demand'):
        check_problem(settings, BLOCKS, BLOCKS.split_problems('simple')[0])


@pytest.mark.parametrize('method', ['belief', 'decode', 'blind'])
def test_a_calibration_of_another_domain_is_refused_as_one(problems, foreign, tmp_path, method):
    settings = RunSettings(problems=str(problems), method=method, backend='noisy_oracle',
                           method_options={'calibration': str(foreign)},
                           out=str(tmp_path / 'run'))
    with pytest.raises(InputError, match=r"home.json: .*another domain.*'household'.*'blocksw"):
        run(settings, world=MemoryWorld(), planner=SearchPlanner())


def test_blind_refuses_it_at_the_beginning_of_an_episode(foreign):
    policy = make_policy('blind', {'calibration': str(foreign)})
    with pytest.raises(InputError, match='another domain'):
        policy.begin(SimpleNamespace(domain=BLOCKS))


def test_a_refusal_names_the_file_and_the_domain_first(foreign, tmp_path):
    found = read_observation_model(foreign)
    with pytest.raises(InputError, match=f'^{foreign}: .*another domain'):
        found.check('another', BLOCKS, 'ground@1')
    with pytest.raises(InputError, match=f'^{foreign}: .*another model'):
        found.check('another', HOME)
    found.write(tmp_path / 'copy.json')
    assert 'source' not in json.loads((tmp_path / 'copy.json').read_text())
    assert read_observation_model(tmp_path / 'copy.json') == found
