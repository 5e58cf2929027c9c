"""The frame of commands: ``--json``, messages, exit codes, options and signals, for all alike."""

import argparse
import os
import signal
import threading
from dataclasses import dataclass

import pytest

from sightplan import cli
from sightplan.commands import frame
from sightplan.commands.frame import DONE, FAILED, USAGE, add_command, add_group, read_options
from sightplan.commands.plugins import COMMANDS
from sightplan.console.tables import table_lines
from sightplan.model import (
    CancelledError,
    InfrastructureError,
    InputError,
    ProblemError,
    WorldError,
    param,
)
from sightplan.model.plugins import entry_points


def run(main, *arguments, **options):
    """Exit code of a command."""
    parser = argparse.ArgumentParser(prog='sightplan')
    add_command(parser.add_subparsers(), 'try', main, 'try something', **options)
    parsed = parser.parse_args(['try', *arguments])
    return parsed.main(parsed)


def speaks(arguments):
    print('for people')
    frame.note('a note')
    return {'answer': 1}, 3


def test_with_json_the_result_alone_is_on_standard_output(capsys):
    assert run(speaks) == 3
    assert capsys.readouterr() == ('for people\n', 'a note\n')
    assert run(speaks, '--json') == 3
    assert capsys.readouterr() == ('{"answer": 1}\n', 'for people\na note\n')


def test_whatever_is_quoted_in_a_note_can_be_shown(capsys):
    frame.note('the id \ud800 is unknown')
    assert capsys.readouterr().err.encode() == b'the id \\ud800 is unknown\n'


def test_a_command_with_many_results_prints_a_line_for_each(capsys):
    def many(arguments):
        frame.emit({'id': 1})
        print('between')
        frame.emit({'id': 2})
        return None, DONE
    assert run(many, '--json') == DONE
    assert capsys.readouterr() == ('{"id": 1}\n{"id": 2}\n', 'between\n')


def test_a_result_that_is_no_json_is_a_defect():
    with pytest.raises(ValueError, match='JSON'):
        run(lambda arguments: ({'x': float('nan')}, DONE), '--json')


@pytest.mark.parametrize(('error', 'code', 'message'), [
    (InputError('no such thing'), USAGE, 'no such thing'),
    (ProblemError('p.pddl:1: bad'), USAGE, 'p.pddl:1: bad'),
    (InfrastructureError('a node died'), FAILED, 'a node died'),
    (WorldError('stuck'), FAILED, 'WorldError: stuck'),
    (CancelledError('stopped'), FAILED, 'stopped'),
    (FileNotFoundError(2, 'No such file', 'x'), FAILED,
     'x: No such file; correct the path, or put the file there'),
    (OSError(28, 'No space left'), FAILED, 'output: No space left; choose another path'),
    (KeyboardInterrupt(), FAILED, 'interrupted; all is kept')])
@pytest.mark.parametrize('flags', [(), ('--json',)])
def test_an_error_is_a_message_and_an_exit_code(capsys, error, code, message, flags):
    def main(arguments):
        raise error
    assert run(main, *flags, kept='all is kept') == code
    assert capsys.readouterr() == ('', f'sightplan try: {message}\n')


def test_an_error_may_be_a_failure_of_what_was_asked_for(capsys):
    def main(arguments):
        raise ProblemError('unsolvable')
    assert run(main, failures=(ProblemError,)) == FAILED


@pytest.mark.parametrize('error', [RuntimeError('a defect'), BrokenPipeError()])
def test_a_defect_is_not_hidden(error):
    def main(arguments):
        raise error
    with pytest.raises(type(error)):
        run(main)


def test_help_has_examples_and_exit_codes(capsys):
    with pytest.raises(SystemExit):
        run(speaks, '--help', examples='examples:\n  sightplan try\n', exits='0 done; 3 odd')
    text = capsys.readouterr().out
    assert 'Try something.' in text and '  sightplan try\n\nexit codes: 0 done; 3 odd.' in text


def test_sub_commands_are_named_in_full(capsys):
    parser = argparse.ArgumentParser(prog='sightplan')
    group = add_group(parser.add_subparsers(), 'things', 'do things')

    def main(arguments):
        raise InputError('no')
    add_command(group, 'list', main, 'list them')
    parsed = parser.parse_args(['things', 'list'])
    assert parsed.main(parsed) == USAGE
    assert capsys.readouterr().err == 'sightplan things list: no\n'
    with pytest.raises(SystemExit):
        parser.parse_args(['things'])


def parsers(parser):
    """All parsers of commands below a parser that run something."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)
    if parser.get_default('main') is not None:
        yield parser


def test_every_command_is_on_the_frame():
    found = [parser for parser in parsers(cli.make_parser())
             if parser.prog != 'sightplan suite']  # whose verbs are read later
    assert len(found) > 15
    for parser in found:
        text = parser.format_help()
        assert '--json' in text and 'exit codes: ' in text, parser.prog


@pytest.mark.parametrize('name', sorted(entry_points(COMMANDS)))
def test_a_command_is_read_alike_with_and_without_all_others(name):
    def commands(parser):
        (found,) = (action.choices for action in parser._actions
                    if isinstance(action, argparse._SubParsersAction))
        return found
    alone, whole = cli.make_parser(['-v', name]), cli.make_parser([f'no-{name}'])
    assert list(commands(alone)) == [name] and [*commands(whole)] == [*entry_points(COMMANDS)]
    assert commands(alone)[name].format_help() == commands(whole)[name].format_help()
    assert alone.format_usage() == whole.format_usage()


@dataclass(frozen=True)
class Settings:
    often: int = param(1, 'how often')
    loud: bool = param(False, 'whether')
    name: str = param('', 'which')


def test_options_get_the_type_of_their_setting():
    assert read_options(['often=3', 'loud=True', 'name=a=b'], Settings, '--x') == {
        'often': 3, 'loud': True, 'name': 'a=b'}
    assert read_options(['a=1', 'b=[true]', 'c=text'], None, '--x') == {
        'a': 1, 'b': [True], 'c': 'text'}


@pytest.mark.parametrize(('pair', 'message'), [
    ('often', 'KEY=VALUE'), ('=1', 'KEY=VALUE'), ('what=1', "no setting 'what'; there are often"),
    ('often=x', 'must be a whole number'), ('loud=1', 'true or false')])
def test_an_option_that_cannot_be_read_names_the_flag(pair, message):
    with pytest.raises(InputError, match=message) as caught:
        read_options([pair], Settings, '--x')
    assert '--x' in str(caught.value)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_flag_and_the_second_interrupts(number, capsys):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with frame.stop_flag('stopping') as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        stop.wait()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert capsys.readouterr().err == '\nstopping\n'
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_before_anyone_asks_the_first_signal_interrupts(capsys):
    with frame.stop_flag('stopping') as stop:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert not stop()
    assert capsys.readouterr().err == ''


def test_outside_of_the_main_thread_signals_stay_with_the_caller():
    seen = []

    def work():
        with frame.stop_flag() as stop:
            seen.append(stop())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_a_table_is_printed_as_it_is_whatever_its_cells_say(capsys):
    frame.print_table(('name', 'n'), [('[red]a[/red]', 12), ('b' * 120, None)], 'of [things]')
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == 'of [things]' and lines[1].split() == ['name', 'n']
    assert lines[2].split() == ['[red]a[/red]', '12'] and lines[3].split() == ['b' * 120, 'None']
    assert len(lines) == 4 and lines[1].index('name') == lines[3].index('b')


def test_a_table_without_headings_begins_with_its_first_row(capsys):
    frame.print_table(('', ''), [('a', 1), ('bc', 23)])
    assert capsys.readouterr().out == 'a    1\nbc  23\n'


def test_the_widest_columns_of_a_table_are_folded_to_the_width_of_the_terminal():
    rows = [('a', 'x' * 30 + '\nsecond', 'y' * 50), ('b', 'left', 'right\x1b[2J')]
    lines = [line for row in table_lines(('n', 'what', 'more'), rows, left=2, width=60)
             for line in row]
    assert max(map(len, lines)) <= 60
    assert ''.join(lines).count('x') == 30 and ''.join(lines).count('y') == 50
    assert 'second' in lines[3] and lines[-1].split() == ['b', 'left', 'right[2J']
    unfolded = table_lines((), rows, left=2)
    assert len(unfolded) == 2 and len(unfolded[0][0]) == 1 + 2 + 30 + 2 + 50
    assert table_lines((), []) == []
