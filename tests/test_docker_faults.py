"""docker/try_faults.py without an engine: what it starts, and how it tells the outcome."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from compose_testing import DOCKER, ROOT, services


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location('try_faults', DOCKER / 'try_faults.py')
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


faults = loaded()


def test_every_service_of_one_machine_is_tried():
    assert set(faults.SERVICES) == services(['compose.yaml'], {}, []).keys()


def test_its_settings_are_those_of_the_compose_files(monkeypatch):
    given: list[dict[str, str]] = []
    monkeypatch.setattr(faults, 'docker', lambda *words, **options: '')
    monkeypatch.setattr(faults, 'process_id', lambda container: 1)
    monkeypatch.setattr(faults.subprocess, 'run', lambda *words, **options: None)
    for place in (faults.one_machine, faults.machines_apart, faults.two_hosts):
        with place({'IMAGE': 'sightplan:debian'}) as (robot, others):
            given += [machine.environ for machine in (robot, *others)]
            names = [name for machine in (robot, *others) for name in machine.services]
            assert sorted({*names} - {'discovery'}) == sorted(faults.SERVICES)
            assert len(names) == len(set(names))
            for machine in (robot, *others):
                found = services(machine.files, machine.environ)
                assert found.keys() >= set(machine.services)
    assert {'LAN_ADDRESS', 'DISCOVERY_SERVER'} <= given[-1].keys()
    assert given[-1]['DISCOVERY_SERVER'] == given[-2]['DISCOVERY_SERVER']
    assert given[-1]['LAN_ADDRESS'] != given[-2]['LAN_ADDRESS'], 'two machines'


def test_a_machine_of_its_own_is_laid_over_the_compose_files(monkeypatch):
    seen: list[Any] = []

    def docker(*words: str, **options: Any) -> str:
        if words[0] != 'compose':
            return ''
        files = [Path(after) for word, after in itertools.pairwise(words)
                 if word == '-f']
        assert files[0] == DOCKER / 'compose.yaml'
        seen.append(json.loads(files[-1].read_text()))
        return ''
    monkeypatch.setattr(faults, 'docker', docker)
    pod = faults.Pod('here', 'net', '10.0.0.7')
    faults.Machine(['compose.yaml'], ['agent'], {}, pods={'agent': pod}).up()
    assert seen == [{'services': {'agent': {
        'network_mode': 'container:here', 'ipc': 'container:here',
        'environment': {'SIGHTPLAN_LAN_ADDRESS': '10.0.0.7'}}}}]


def test_lines_that_were_cut_off_do_not_count(tmp_path):
    assert faults.lines(tmp_path) == []
    (tmp_path / 'episodes.jsonl').write_bytes(b'{"error": null}\n{"error": "x"}\n{"err')
    assert len(faults.lines(tmp_path)) == 2
    assert faults.errors(tmp_path) == 1


@pytest.mark.parametrize(('changed', 'word'), [
    ({}, 'ends with 1, 12 s'), ({'code': None}, 'does not end'), ({'intact': False}, 'CHANGED'),
    ({'completed': False}, 'incomplete'), ({'again': None}, 'not needed'),
    ({'tries': 2}, 'at try 2')])
def test_the_table_tells_what_is_wrong(changed, word):
    outcome = faults.Outcome('one machine', 'agent', 'kill', 2, True, 1, 3, 1, 12.3, 1,
                             'running healthy', 0, 1, True)
    for name, value in changed.items():
        setattr(outcome, name, value)
    head, rule, row = faults.table([outcome]).splitlines()
    assert word in row
    assert head.count('|') == rule.count('|') == row.count('|')
    assert head in (ROOT / 'studies' / 'operations.md').read_text()
    assert 'python docker/try_faults.py' in (ROOT / 'docs' / 'containers.md').read_text()
