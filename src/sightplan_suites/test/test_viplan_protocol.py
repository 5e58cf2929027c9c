"""ViPlan's deviations from the paper and ``--protocol paper``: each undoes what the table says."""

import functools
import re
from pathlib import Path

import pytest

import sightplan_suites.viplan
from sightplan.agent import policy_settings
from sightplan.model import InputError
from sightplan.runs import RunSettings, load_suite, run, specify
from sightplan.runs.protocols import apply

README = (Path(sightplan_suites.viplan.__file__).parent / 'README.md').read_text()
GROUNDERS = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')
DOMAINS = ('blocksworld', 'household')
PLANNERS = ('plan', 'plan_cot', 'action', 'action_cot')
REASONS = re.compile(r'not undone|nothing to undo|which only (?:its authors|their)|[Nn]ot part of '
                     r'`paper`|takes the paper\'s')
"""Words with which a row says why it has no switch in the protocol."""
OPTIONS = {'--method-option': 'method_options', '--world-option': 'world_options',
           '--backend-option': 'backend_options'}
PLAIN = {'--answers': 'answers', '--privileged': 'privileged'}


def rows():
    """The rows of the tables of deviations: number, and last column."""
    table = README[README.index('## Deviations'):README.index('## Anchors')]
    for line in table.splitlines():
        if match := re.match(r'\| (H?\d+) \|.*\| ([^|]*) \|$', line):
            yield match[1], match[2]


def switches(cell):
    """The settings in bold of a cell, as dotted names with values."""
    group = ''
    for text in re.findall(r'\*\*`([^`]*)`\*\*', cell):
        head, _, rest = text.rpartition(' ')
        if head in PLAIN:
            yield PLAIN[head], rest
            continue
        group = OPTIONS[head] if head else group
        name, _, value = rest.partition('=')
        yield f'{group}.{name}', value


def paper(domain, method, **given):
    """The settings of a run with protocol ``paper``."""
    return apply(RunSettings(domain=domain, method=method, protocol='paper', backend='openai',
                             backend_options={'model': 'm'}, **given))


@functools.cache
def every_run():
    """Domain and settings, as texts, of runs of all methods of the paper in both domains."""
    return [(domain, values(paper(domain, method))) for domain in DOMAINS
            for method in (*GROUNDERS, *PLANNERS)]


def values(settings):
    """What a run has of settings that a protocol may set, by dotted name, as texts."""
    found = {'answers': settings.answers}
    for head in OPTIONS.values():
        found |= {f'{head}.{name}': value for name, value in getattr(settings, head).items()}
    return {name: str(value).lower() for name, value in found.items()}


def test_the_table_has_all_rows():
    found = [number for number, _ in rows()]
    assert found == [*map(str, range(1, 23)), *(f'H{n}' for n in range(1, 21))]


@pytest.mark.parametrize(('number', 'cell'), list(rows()))
def test_each_row_has_a_switch_of_the_protocol_or_says_why_not(number, cell):
    named = dict(switches(cell))
    if not named:
        assert REASONS.search(cell), f'{number}: {cell}'
    every = [run for domain, run in every_run()
             if not number.startswith('H') or domain == 'household']
    for name, value in named.items():
        if name == 'privileged':
            identity = specify(RunSettings(
                domain='household' if number.startswith('H') else 'blocksworld',
                method='ground', protocol='paper', backend='noisy_oracle')).identity('m')
            assert identity['privileged'] == {'simple': value}, number
        else:
            assert value in {run.get(name) for run in every}, f'{number}: {name}={value}'


def test_the_protocol_sets_nothing_that_no_row_names():
    named = {item for _, cell in rows() for item in switches(cell)}
    entries = load_suite('viplan').protocols['paper']
    for name, value in ((name, value) for entry in entries
                        for name, value in entry.settings.items()):
        if name == 'planner_search' or value == 'none':  # as ours; search is not the paper's
            continue
        assert (name, str(value).lower()) in named, name


@pytest.mark.parametrize('domain', DOMAINS)
@pytest.mark.parametrize('method', [*GROUNDERS, *PLANNERS])
def test_a_method_has_all_its_switches(domain, method):
    """Each option of a method that a row names is set for every method that has it."""
    has = policy_settings(method, paper(domain, method).method_options)
    named = dict(item for _, cell in rows() for item in switches(cell)
                 if item[0].startswith('method_options.'))
    household_only = {'first_plan', 'hidden_mismatch', 'on_empty'}
    for dotted, value in named.items():
        name = dotted.partition('.')[2]
        if hasattr(has, name) and not (domain == 'blocksworld' and name in household_only):
            assert str(getattr(has, name)).lower() == value, name


def test_a_run_of_another_method_keeps_its_own_rules():
    found = apply(RunSettings(domain='household', method='oracle', protocol='paper'))
    assert found.method_options == {} and found.world_options['camera'] == 'paper'


def test_search_grants_nothing():
    identity = specify(RunSettings(domain='household', split='all', method='ground',
                                   protocol='paper', backend='noisy_oracle')).identity('m')
    assert identity['privileged'] == {
        'simple': 'reference', 'medium': 'reference', 'hard': 'reference', 'search': 'none'}


def test_a_model_that_knows_no_words_but_ours_is_refused_before_the_first_episode(tmp_path):
    settings = RunSettings(domain='household', protocol='paper', episodes=1,
                           out=str(tmp_path / 'run'))
    with pytest.raises(InputError, match=r'question_words=paper asks in others.*'
                                         'use protocol ours instead of paper'):
        run(settings)
