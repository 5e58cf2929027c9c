"""Verbs of ``sightplan suite point_it_out``."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands import suite as generic
from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    print_table,
    read_options,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.commands.suite import ScoreArguments
from sightplan.console.results_table import measure_text
from sightplan.model import InputError, user_path
from sightplan.model.whole_files import replacing
from sightplan.runs.dataset import nothing_usable

if TYPE_CHECKING:
    from sightplan.runs.suite import Suite
    from sightplan_suites.point_it_out.traces import ShownTrace

SUITE = 'point_it_out'
_EXITS = '0 done; 2 bad usage or bad files'
_MOST_NAMED = 20
"""Number of skipped entries that are printed; ``--json`` lists all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TracesArguments:
    """Arguments that the verbs that read traces share."""

    run: tuple[Path, ...] = option(
        (), 'a run of split s3 (repeatable, one of each model)', metavar='DIR')
    data: Path | None = option(None, 'folder of data of --predictions', metavar='DIR')
    predictions: tuple[Path, ...] = option(
        (), 'a file of predictions with traces (repeatable, one of each model)', metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportArguments:
    """Arguments of ``sightplan suite point_it_out import``."""

    folder: Path = argument(
        'searched with all folders below it for <s1|s2|s3>/<run>/<tag>/info.npy', metavar='DIR')
    out: Path = option(REQUIRED, 'JSON lines, which the verb score takes', metavar='FILE')
    run: str = option(
        '', 'only this run (needed where several answer the same items)', metavar='NAME')
    model: str = option(
        '', 'only answers of this model, as vlm_name in the files has it (needed where they are '
        'of several)', metavar='NAME')


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeArguments(_TracesArguments):
    """Arguments of ``sightplan suite point_it_out judge``."""

    backend: str = backend_flag('openai', 'backend of the model that judges')
    backend_option: tuple[str, ...] = settings_flag('the backend')
    pairs: bool = option(False, "choose the better of any two models' traces, in both orders")
    out: Path = option(
        REQUIRED, 'JSON lines are added to it; what stands there is not asked again',
        metavar='FILE')


@dataclass(frozen=True, slots=True, kw_only=True)
class RateArguments(_TracesArguments):
    """Arguments of ``sightplan suite point_it_out rate``."""

    who: str = option('', 'who rates (default: your login name)', metavar='NAME')
    out: Path = option(
        REQUIRED, 'JSON lines are added to it; the same command continues', metavar='FILE')
    port: int = option(0, 'port of the page (default: any free one)', low=0, high=65535)
    no_browser: bool = option(False, 'only print the address of the page')


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementArguments:
    """Arguments of ``sightplan suite point_it_out agreement``."""

    ratings: tuple[Path, ...] = argument(
        'ratings by people (verb rate) and judges (verb judge)', metavar='FILE')
    raters: int = option(5, 'number of people who must have rated a trace')
    alike: int = option(4, 'number of them who must agree')


def score(suite: Suite, arguments: ScoreArguments) -> Result:
    """Score places in declared coordinates, texts of replies, or the lines of a run."""
    from sightplan_suites.point_it_out import official, predictions
    path = user_path(arguments.predictions)
    if predictions.is_generic(path):
        try:
            return generic.score(suite, arguments)
        except InputError as error:  # also raised for a text file without any usable line
            note(f'sightplan suite: {error}')
            return {'suite': suite.name, 'data': str(arguments.data), 'items': []}, FAILED
    if arguments.data is None:
        raise InputError(f'{path}: holds places in pictures of a folder of data; name the folder '
                         '(--data)')
    data = official.read_official(user_path(arguments.data))
    found = predictions.score_file(data, path)
    _print_score(found)
    if not data.items:
        none = nothing_usable(data.where, data.skipped, 'item')
        note(f'sightplan suite: {none}')
    elif not found['items']:
        note(f'sightplan suite: {path}: holds not one answer that can be used, see above')
    return ({'suite': suite.name, 'data': str(arguments.data), **found},
            DONE if found['items'] else FAILED)


def _print_score(found: dict[str, Any]) -> None:
    outputs = ', '.join(f'{count} {name}' for name, count in found['outputs'].items())
    print(f'{"answers":24} {len(found["items"])} ({outputs or "none"})')
    for name, measure in found['measures'].items():
        if measure['n']:
            print(f'{name:24} {measure_text(measure)} (n = {measure["n"]})')
    if found['items']:
        print_table(('part', 'n', 'score', 'score_dropped'), [
            (f'{split}, {name}', *_cells(values)) for split, name, values in _parts(found)])
    print(f'{"unread":24} {found["unread"]} of {len(found["items"])} answers')
    if found['missing']:
        note(f'sightplan suite: {len(found["missing"])} items have no answer and are not scored, '
             f'such as {found["missing"][0]}')
    if found['skipped']:
        note(f'sightplan suite: {len(found["skipped"])} skipped:')
    for item in found['skipped'][:_MOST_NAMED]:
        name = f'{item["id"]}: ' if 'id' in item else ''
        note(f'  {item["file"]}: {name}{item["reason"]}')
    if len(found['skipped']) > _MOST_NAMED:
        note(f'  ... and {len(found["skipped"]) - _MOST_NAMED} more (--json has all)')


def _parts(found: dict[str, Any]) -> list[tuple[str, str, Any]]:
    return [(what.removeprefix('by_'), name, values)
            for what in ('by_output', 'by_subclass', 'by_source', 'by_scenario')
            for name, values in found[what].items()]


def _cells(values: dict[str, Any]) -> list[str]:
    return [str(values['score']['n']), *(
        '-' if values[name]['value'] is None else f'{values[name]["value"]:.3f}'
        for name in ('score', 'score_dropped'))]


def import_results(arguments: ImportArguments) -> Result:
    """Turn published result folders into a file of predictions."""
    from sightplan_suites.point_it_out import info_files, predictions
    folder, out = user_path(arguments.folder), user_path(arguments.out)
    found, skipped = info_files.import_results(folder, arguments.run, arguments.model)
    for item in skipped:
        note(f'skipped: {item["file"]}: {item["reason"]}')
    result = {'suite': SUITE, 'folder': str(folder), 'out': str(out),
              'predictions': len(found), 'skipped': skipped}
    if not found:
        note(f'sightplan suite: {folder}: not one of {len(skipped)} files can be used')
        return result, FAILED
    with replacing(out) as path:
        path.write_text(predictions.written(found), 'utf-8')
    print(f'{len(found)} predictions in {out}, {len(skipped)} files skipped')
    return result, DONE


def judge(arguments: JudgeArguments) -> Result:
    """Let a model rate traces, or choose the better ones of pairs."""
    from sightplan.runs.suite_finding import load_suite
    from sightplan.runs.work import closing
    from sightplan.vlm.api import backend_settings, make_checked_backend
    from sightplan_suites.point_it_out import agreement, judging
    out = user_path(arguments.out)
    traces = _traces(arguments)
    options = read_options(arguments.backend_option, type(backend_settings(arguments.backend)),
                           '--backend-option')
    before = agreement.read_ratings([out] if out.exists() else [])
    count = unread = 0
    with ExitStack() as stack:
        backend = closing(stack, make_checked_backend(arguments.backend, options))
        work = judging.Judge(load_suite(SUITE), backend, before)
        file = stack.enter_context(out.open('a', encoding='utf-8'))
        for entry in work.pairs(traces) if arguments.pairs else work.ratings(traces):
            file.write(entry.model_dump_json() + '\n')
            file.flush()
            count, unread = count + 1, unread + bool(entry.unread)
    print(f'{count} judgements by {backend.name} in {out}, {unread} cannot be read')
    return {'suite': SUITE, 'out': str(out), 'judgements': count, 'unread': unread,
            'rater': backend.name}, DONE


def rate(arguments: RateArguments) -> Result:
    """Let a person rate traces on a local page."""
    from sightplan_report.commands.label import serve
    from sightplan_suites.point_it_out.rating import RatingServer, RatingSession
    who = arguments.who
    if not who:
        with suppress(KeyError, OSError):
            who = getpass.getuser()
    if not who or not who.isprintable():
        raise InputError(f'--who {who!r}: must be a name on one line')
    session = RatingSession(_traces(arguments), user_path(arguments.out), who)
    with RatingServer(session, arguments.port) as server:
        note(f'{session.total} traces; {session.rated} rated by {who} already\n'
             f'open {server.url}\nCtrl-C ends')
        serve(server, browser=not arguments.no_browser)
    note(f'\n{session.rated} of {session.total} traces are rated: {session.path}')
    return {'suite': SUITE, 'who': who, 'rated': session.rated, 'traces': session.total,
            'out': str(session.path)}, DONE


def show_agreement(arguments: AgreementArguments) -> Result:
    """Print a summary of ratings, beside the paper's."""
    from sightplan.runs.suite_finding import load_suite
    from sightplan_report.results import short_model
    from sightplan_suites.point_it_out import agreement
    found = agreement.summarise(agreement.read_ratings(map(user_path, arguments.ratings)),
                                arguments.raters, arguments.alike)
    suite = load_suite(SUITE)
    rows = []
    for model, means in found['models'].items():
        cells: list[object] = [model]
        for kind in ('people', 'judge'):
            theirs = suite.published.find(short_model(model, suite), f'rating_{kind}', split='s3',
                                     output='trace')
            means[kind]['published'] = None if theirs is None else theirs.value
            cells += [_number(means[kind]['mean']), means[kind]['traces'],
                      _number(means[kind]['published'])]
        rows.append(cells)
    print_table(('model', 'people', 'traces', 'paper', 'judge', 'traces', 'paper'), rows)
    for name, about in (('agreement', f'{arguments.alike} of {arguments.raters} people agree'),
                        ('picks_best', "judge picks people's best"),
                        ('picks_worst', "judge picks people's worst")):
        value = _published(suite, name, arguments)
        found[name]['published'] = value
        paper = '' if value is None else f'; the paper {value:.2f}'
        print(f'{about:32} {measure_text(found[name])} (n = {found[name]["n"]}{paper})')
    for model, won in found['preferences'].items():
        print(f'{model + " preferred":32} {measure_text(won)} (n = {won["n"]})')
    if found['unread']:
        note(f'sightplan suite: {found["unread"]} replies of judges cannot be read')
    if not (found['models'] or found['preferences']):
        note(f'sightplan suite: {", ".join(map(str, arguments.ratings))}: holds no rating')
        return {'suite': SUITE, **found}, FAILED
    return {'suite': SUITE, **found}, DONE


def _published(suite: Suite, name: str, arguments: AgreementArguments) -> float | None:
    """Return what appendix G tells of an agreement; None for another number of people."""
    if name == 'agreement' and (arguments.raters, arguments.alike) != (5, 4):
        return None
    who = 'five people' if name == 'agreement' else 'gpt-o4-mini as judge'
    row = suite.published.find(who, name, split='s3', output='trace')
    return None if row is None else row.value


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.2f}'


def _traces(arguments: _TracesArguments) -> Sequence[ShownTrace]:
    """The traces of runs or of files of predictions."""
    from sightplan_suites.point_it_out import traces
    if bool(arguments.run) == bool(arguments.predictions) or (
            bool(arguments.data) != bool(arguments.predictions)):
        raise InputError('name runs (--run DIR), or data and files of predictions (--data DIR '
                         '--predictions FILE)')
    return traces.checked(
        traces.traces_of_runs(map(user_path, arguments.run)) if arguments.data is None
        else traces.traces_of_files(user_path(arguments.data), map(
            user_path, arguments.predictions)))


def add_parsers(verbs: Any) -> None:
    """Register the verbs that this suite has of its own."""
    add_command(
        verbs, 'import', import_results,
        'turn published result folders into a file of predictions; nothing in them is executed',
        settings=ImportArguments,
        exits='0 done; 1 not one answer can be used; 2 bad usage or bad files')
    add_command(
        verbs, 'judge', judge, 'let a model rate traces from 1 to 5, or choose between two',
        settings=JudgeArguments,
        exits='0 done; 1 the model could not answer; 2 bad usage or bad files')
    add_command(
        verbs, 'rate', rate, 'rate traces from 1 to 5 on a local page', settings=RateArguments,
        exits=_EXITS)
    add_command(
        verbs, 'agreement', show_agreement,
        'mean ratings, agreement of people, and how often a judge picks their best and worst',
        settings=AgreementArguments,
        exits='0 done; 1 there is no rating; 2 bad usage or bad files')
