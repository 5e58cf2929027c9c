"""Protocols: rule sets of suites, what they set in a run, and what contradicts them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sightplan.model import InputError
from sightplan.runs import RunSettings, load_suite, specify
from sightplan.runs.protocols import apply, violations

SUITE = """\
title: Blocks
kind: episodes
domains:
  blocksworld: {splits: [simple, hard], max_actions: 20}
protocols:
  paper:
    - settings: {answers: prefix, backend_options.pseudo_count: 0.5}
    - {methods: [ground], settings: {method_options.on_unparsed: stop}}
    - {splits: [hard], settings: {max_actions: 7, stop_at_goal: yes}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / 'blocks'
    folder.mkdir()
    (folder / 'suite.yaml').write_text(SUITE)
    return folder


def paper(folder: Path, **given: Any) -> RunSettings:
    return RunSettings(**{'suite': str(folder), 'protocol': 'paper', 'method': 'ground',
                          'backend': 'noisy_oracle', **given})


def changed(suite: Path, old: str, new: str) -> Path:
    text = (suite / 'suite.yaml').read_text()
    assert old in text
    (suite / 'suite.yaml').write_text(text.replace(old, new))
    return suite


def test_a_protocol_sets_what_it_says_and_the_identity_says_so(suite: Path) -> None:
    plan = specify(paper(suite))
    identity = plan.identity('model')
    assert identity['protocol'] == 'paper' and identity['answers'] == 'prefix'
    assert identity['method']['on_unparsed'] == 'stop'
    assert identity['backend']['pseudo_count'] == 0.5
    assert identity['max_actions'] == {'simple': 20}
    assert not identity['stop_at_goal']['simple']


def test_rules_are_those_of_the_split(suite: Path) -> None:
    identity = specify(paper(suite, split='hard')).identity('model')
    assert identity['max_actions'] == {'hard': 7} and identity['stop_at_goal'] == {'hard': True}


def test_without_a_protocol_nothing_is_set(suite: Path) -> None:
    settings = paper(suite, protocol='ours')
    assert apply(settings) is settings
    identity = specify(settings).identity('model')
    assert identity['protocol'] == 'ours' and identity['answers'] == 'strict'


def test_applied_again_it_is_the_same(suite: Path) -> None:
    once = apply(paper(suite, split='hard'))
    assert once.answers == 'prefix' and apply(once) == once


def test_an_option_that_the_backend_or_the_method_does_not_have_is_left_out(suite: Path) -> None:
    found = apply(paper(suite, backend='embedded', method='oracle'))
    assert not found.backend_options and not found.method_options


@pytest.mark.parametrize(('given', 'message'), [
    ({'protocol': 'papr'}, "no protocol 'papr' (it has ours, paper; did you mean 'paper'?)"),
    ({'method_options': {'on_unparsed': 'continue'}},
     "method_options.on_unparsed = 'continue' contradicts protocol 'paper', which sets it to 's"),
    ({'backend_options': {'pseudo_count': 0.0}}, 'leave it out, or use --protocol ours'),
    ({'split': 'hard', 'max_actions': 20},
     "max_actions = 20 contradicts protocol 'paper', which sets it to 7"),
    ({'max_actions': 9}, 'which sets it to 20'),
    ({'suite': '', 'split': 'simple', 'domain': 'sliding'}, 'this run has none; name its suite'),
])
def test_what_contradicts_is_refused(suite: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        specify(paper(suite, **given))
    assert message in str(error.value)


def test_a_setting_that_was_named_counts_even_with_its_default(suite: Path) -> None:
    assert apply(paper(suite, answers='strict')).answers == 'prefix'
    with pytest.raises(InputError, match="answers = 'strict' contradicts"):
        apply(paper(suite, answers='strict'), named=('answers',))


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('answers: prefix', 'answer: prefix', 'answer is no setting that a protocol may set'),
    ('answers: prefix', 'answers: loose', "answers = 'loose' must be one of strict, prefix"),
    ('max_actions: 7', 'max_actions: -1', 'max_actions = -1 is out of bounds'),
    ('methods: [ground]', 'domains: [pantry]', "protocols.paper.1.domains: 'pantry' is unknown"),
    ('splits: [hard]', 'splits: [hrd]', "protocols.paper.2.splits: 'hrd' is unknown"),
    ('  paper:', '  ours:', 'choose another name'),
    ('pseudo_count', 'pseudo_cont', 'protocols.paper.0.settings.backend_options.pseudo_cont: '),
    ('pseudo_count', 'pseudo_cont',
     "no setting 'pseudo_cont' among backend_options; did you mean 'pseudo_count'?"),
    ('on_unparsed', 'on_unread',
     'suite.yaml: protocols.paper.1.settings.method_options.on_unread: there is no'),
])
def test_a_wrong_entry_names_file_and_field(suite: Path, old: str, new: str,
                                            message: str) -> None:
    with pytest.raises(InputError) as error:
        specify(paper(changed(suite, old, new)))
    assert message in str(error.value) and 'suite.yaml' in str(error.value)


def test_an_option_for_some_splits_only_needs_runs_of_their_own(suite: Path) -> None:
    changed(suite, 'methods: [ground]', 'splits: [hard]')
    (suite / 'suite.yaml').write_text((suite / 'suite.yaml').read_text().replace(
        '[simple, hard], max', '[simple, medium, hard], max'))
    with pytest.raises(InputError, match='run these splits one by one'):
        specify(paper(suite, split='all'))
    assert apply(paper(suite, split='hard')).method_options == {'on_unparsed': 'stop'}


PHOTOS = """\
import numpy as np
from sightplan.runs import Picture, ProtocolEntry, Sample, Samples, Suite

class Photos(Suite):
    name, title, splits = 'photos', 'My photos', ('near', 'far')
    protocols = {'short': (
        ProtocolEntry(settings={'answers': 'prefix', 'backend_options.pseudo_count': 0.5}),
        ProtocolEntry(splits=('far',), settings={'backend_options.pseudo_count': 0.25}))}

    def samples(self, split, options):
        picture = Picture('one', lambda: np.zeros((8, 8, 3), np.uint8))
        return Samples.of([(Sample.yes_no('1', split, picture, 'Is it?'), True)], [])

suite = Photos()
"""


def test_a_suite_of_samples_in_one_file_has_protocols(tmp_path: Path) -> None:
    (tmp_path / 'photos.py').write_text(PHOTOS)
    suite = load_suite(str(tmp_path / 'photos.py'))
    assert not list(violations(suite))
    given = RunSettings(suite=str(tmp_path / 'photos.py'), split='near', method='ask',
                        backend='noisy_oracle', protocol='short')
    identity = specify(given).identity('model')
    # What is about episodes is left out.
    assert identity['protocol'] == 'short' and identity['backend']['pseudo_count'] == 0.5
    assert apply(replace(given, split='far')).backend_options == {'pseudo_count': 0.25}
    with pytest.raises(InputError, match='run these splits one by one'):
        specify(replace(given, split='samples'))
    with pytest.raises(InputError, match=r'photos\.py: protocols\.short\.1'):
        specify(replace(given, split='far', backend_options={'pseudo_count': 1.0}))


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('pseudo_count: 0.5', 'pseudo_count: many', 'pseudo_count'),
    ('methods: [ground]', 'methods: [grund]', "'grund' is unknown; did you mean 'ground'"),
    ('on_unparsed: stop', 'on_unparsed: halt', "on_unparsed = 'halt' must be one of"),
    ('methods: [ground]', 'methods: [oracle]', "no setting 'on_unparsed' among method_options of"),
    ('  paper:', '  ours:', 'choose another name'),
])
def test_the_contract_finds_wrong_protocols(suite: Path, old: str, new: str,
                                            message: str) -> None:
    assert not list(violations(load_suite(str(suite))))
    changed(suite, old, new)
    try:
        found = list(violations(load_suite(str(suite))))
    except InputError as error:
        found = [str(error)]
    assert any(message in text for text in found), found


def test_the_paper_of_viplan_can_be_followed() -> None:
    assert 'paper' in load_suite('viplan').protocols
    for domain in ('blocksworld', 'household'):
        found = specify(RunSettings(domain=domain, protocol='paper')).identity('model')
        assert found['answers'] == 'prefix' and found['protocol'] == 'paper'
