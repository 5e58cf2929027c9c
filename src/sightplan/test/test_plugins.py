"""Commands of other packages: found by entry point, and none takes the others down."""

import importlib.metadata
import sys
import types

import pytest

from sightplan import cli
from sightplan.commands import plugins
from sightplan.model.plugins import _entry_points, entry_points


@pytest.fixture
def installed(monkeypatch):
    """Entry points as if a package had them: name to what the function does with the parsers."""
    def install(group, **functions):
        module = types.ModuleType('plugin_of_a_test')
        points = []
        for name, function in functions.items():
            setattr(module, name, function)
            points.append(importlib.metadata.EntryPoint(name, f'plugin_of_a_test:{name}', group))
        monkeypatch.setitem(sys.modules, 'plugin_of_a_test', module)
        monkeypatch.setattr(plugins.importlib.metadata, 'entry_points', lambda **wanted: [
            point for point in points if wanted == {'group': point.group}])
    return install


def greet(subparsers):
    parser = subparsers.add_parser('greet', help='say hello')
    parser.add_argument('whom')
    parser.set_defaults(main=lambda arguments: print(f'hello {arguments.whom}') or 3)


def test_a_command_of_another_package_runs(installed, capsys):
    installed('sightplan.commands', greet=greet)
    assert 'say hello' in cli.make_parser().format_help()
    assert cli.main(['greet', 'arm']) == 3
    assert capsys.readouterr().out == 'hello arm\n'


def fails(subparsers):
    raise RuntimeError('no arm today')


def leaves(subparsers):
    sys.exit(5)


def wrong_name(subparsers):
    subparsers.add_parser('run').set_defaults(main=print)


@pytest.mark.parametrize(('function', 'reason'), [
    (fails, 'RuntimeError: no arm today'), (leaves, 'SystemExit: 5'),
    (wrong_name, "commands ['run']"), (None, 'TypeError')])
def test_a_broken_one_is_listed_and_says_why_and_the_others_work(
        installed, capsys, function, reason):
    name = function.__name__ if function else 'nothing'
    installed('sightplan.commands', **{name: function, 'greet': greet})
    text = cli.make_parser().format_help()
    assert 'say hello' in text
    assert f'{name} ' in text
    assert cli.main([name, 'anything']) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert 'plugin_of_a_test' in error
    assert cli.main(['greet', 'you']) == 3


def test_a_module_that_is_not_there_breaks_its_own_command_only(monkeypatch, capsys):
    point = importlib.metadata.EntryPoint('gone', 'not_a_module_at_all:add', 'sightplan.commands')
    monkeypatch.setattr(plugins.importlib.metadata, 'entry_points',
                        lambda group: [point] if group == point.group else [])
    assert cli.main(['gone']) == 1
    assert 'not_a_module_at_all' in capsys.readouterr().err


def test_a_command_of_ours_cannot_be_replaced():
    def read(group):
        return [importlib.metadata.EntryPoint('run', value, group) for value in (
            'a_stranger:run', 'sightplan.commands.run:add_parser', 'z:run')]
    found = _entry_points('sightplan.commands', read, ())
    assert found['run'].value == 'sightplan.commands.run:add_parser'


def test_a_command_of_a_package_that_is_not_installed_says_which(installed, capsys):
    installed('sightplan.commands', greet=greet)
    with pytest.raises(SystemExit) as stopped:
        cli.main(['report', 'runs'])
    assert stopped.value.code == 2
    assert 'pip install sightplan_report' in capsys.readouterr().err


def test_it_is_known_which_package_brings_a_command():
    points = entry_points(plugins.COMMANDS)
    brought = {name: point.value.partition('.')[0] for name, point in points.items()}
    assert brought == {**{name: 'sightplan' for name, point in points.items()
                          if point.value.startswith('sightplan.')},
                       **{name: package for package, names in plugins.BROUGHT_BY.items()
                          for name in names}}
