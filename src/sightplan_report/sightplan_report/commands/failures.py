"""``sightplan failures``: why episodes failed, and what went wrong with samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, Result, add_command, note, print_table
from sightplan.metrics import Cause
from sightplan.model import InputError, user_path

if TYPE_CHECKING:
    from sightplan_report.failures import Column, Failed, FailedEpisode

_EXAMPLES = """\
examples:
  sightplan failures runs/ground runs/plan
  sightplan failures runs/ground --html failures.html
  sightplan failures runs/ground --cause effect_misread
  sightplan failures runs/ground --episode problem_07

Every failed episode has exactly one cause, by rules ("--rules" prints them), every wrong sample
the one that its suite names; fractions are of the failed ones, with 95 % intervals. Pictures of
episodes come from the run directory (failures/) or, for runs on ROS, from the bags; those of
samples are drawn by their suite, with truth and answer.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresArguments:
    """Arguments of ``sightplan failures``."""

    runs: tuple[str, ...] = argument(
        'run directory, or a directory that holds some', metavar='RUN', default=())
    cause: str = option(
        '', 'list the episodes that failed of this: '
        f'{", ".join(cause.value for cause in Cause)}; or the samples, by a cause of their suite',
        metavar='NAME')
    episode: str = option(
        '', 'show the episodes or samples with this id, or with this in their id or in the name '
        'of their picture', metavar='ID')
    html: str = option(
        '', 'write one page with counts, pictures, answers and actions', metavar='FILE')
    pictures: str = option(
        '', 'write the pictures of the failures into this directory', metavar='DIR')
    rules: bool = option(False, 'print the rules, in their order')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan failures``."""
    add_command(
        subparsers, 'failures', show_failures, 'why episodes and samples failed: causes, pictures',
        'Count the causes of failed episodes and wrong samples, and show each with its picture.',
        settings=FailuresArguments, examples=_EXAMPLES,
        exits='0 done; 1 a file cannot be written; 2 bad usage, or not a run')


def show_failures(arguments: FailuresArguments) -> Result:
    """Read runs, count the causes of failures, and print or write the result."""
    from sightplan_report.failures import FailedEpisode, items_word, matching, read_columns
    from sightplan_report.sample_page import SamplesOfRuns, text_of
    if arguments.rules:
        print(rules_table())
        return None, DONE
    if not arguments.runs:
        raise InputError('name at least one run directory (or --rules)')
    columns = read_columns((user_path(run) for run in arguments.runs), note)
    chosen = matching(columns, arguments.cause, arguments.episode)
    if arguments.html:
        from sightplan_report.failures_page import page
        from sightplan_report.html import write_page
        path = user_path(arguments.html)
        write_page(path, page(columns, chosen))
        note(f'written: {path}')
    if arguments.pictures:
        _write_pictures(chosen, user_path(arguments.pictures))
    if arguments.cause or arguments.episode:
        samples = SamplesOfRuns()
        for column, failed in chosen:
            if isinstance(failed, FailedEpisode):
                _show(column, failed)
            else:
                print(text_of(failed.view(samples)))
        if not chosen:
            print(f'no {items_word(columns)[:-1]} failed of {arguments.cause}')
    else:
        _show_table(columns)
    ids = {(str(failed.folder), failed.line['id']) for _, failed in chosen}
    return {'runs': [_chosen_only(column, ids) for column in columns]}, DONE


def rules_table() -> str:
    """The rules as a Markdown table, in their order."""
    from sightplan.metrics import RULES
    rows = ['| # | cause | applies when | for example |', '|---|---|---|---|']
    rows += [f'| {number} | `{rule.cause.value}` | {rule.when} | {rule.example} |'
             for number, rule in enumerate(RULES, 1)]
    return '\n'.join(rows)


def causes_table(columns: Sequence[Column]) -> list[list[str]]:
    """The counts as rows of text: a head, causes that occur, and totals."""
    counts = [column.counts() for column in columns]
    head = ['cause', *('\n'.join(filter(None, (column.method, column.model, column.split)))
                       for column in columns)]
    rows = []
    for cause in _order(counts):
        row = [cause]
        for column, own in zip(columns, counts, strict=True):
            k, n = own.get(cause, 0), len(column.failed)
            low, high = column.fraction(cause).interval
            row.append(f'{k}: {k / n:.2f} ({low:.2f}-{high:.2f})' if k else '-')
        rows.append(row)
    from sightplan_report.failures import items_word
    failed = [f'failed / {items_word(columns)}',
              *(f'{len(c.failed)} / {c.episodes}' for c in columns)]
    return [head, *rows, failed]


def _order(counts: Sequence[dict[str, int]]) -> list[str]:
    from sightplan.metrics import Cause
    present = {cause for own in counts for cause in own}
    known = [cause.value for cause in Cause if cause.value in present]
    return [*known, *sorted(present - set(known))]


def _show_table(columns: Sequence[Column]) -> None:
    from sightplan_report.failures import items_word
    head, *rows = causes_table(columns)
    print_table([f'{run}\n{name}'.strip() for name, run in zip(
        head, ['', *(c.run for c in columns)], strict=True)], rows,
        f'failed {items_word(columns)} by cause: count, fraction and 95 % interval of the failed')
    causes = _order([column.counts() for column in columns])
    if causes:
        note(f'"--cause {causes[0]}" lists those of a cause')


def _show(column: Column, failed: FailedEpisode) -> None:
    """Print one failure with its answers and the actions around it."""
    from sightplan_report.failures import history
    failure, evidence = failed.failure, failed.failure['evidence']
    print(f'{failed.line["id"]}  ({column.run}, {column.method}'
          f'{", " + column.model if column.model else ""})')
    print(f'  {failure["cause"]}, step {failure["step"]}: {evidence["text"]}')
    for answer in evidence['answers']:
        truth = {True: 'yes', False: 'no'}.get(answer['truth'], 'not known')
        print(f'    {answer["purpose"]}: {answer.get("question") or answer["atom"]} '
              f'{answer["answer"]} (truth: {truth})')
    for number, step in history(failed.line, failure['step']):
        mark = '>' if number == failure['step'] else ' '
        outcome = step.get('outcome') or step.get('proposal') or ''
        print(f'  {mark} {number:3} {step.get("action") or "-"}: {step.get("status", "")}'
              f'{", " + outcome if outcome else ""}')
    print(f'    ended by {failed.line.get("stop", "")}, image {failure["image_id"] or "unknown"}'
          + (f', picture {failed.folder / failure["picture"]}' if failure.get('picture') else ''))


def _chosen_only(column: Column, ids: set[tuple[str, str]]) -> dict[str, Any]:
    found = column.to_json()
    folders = {failed.line['id']: str(failed.folder) for failed in column.failed}
    found['failures'] = [f for f in found['failures']
                         if (folders[f['id']], f['id']) in ids]
    return found


def _write_pictures(chosen: Sequence[tuple[Column, Failed]], folder: Path) -> None:
    from sightplan.records.evidence import file_name
    from sightplan_report.sample_page import SamplesOfRuns
    folder.mkdir(parents=True, exist_ok=True)
    written, samples = 0, SamplesOfRuns()
    for column, failed in chosen:
        data = failed.picture(samples)
        if data is not None:
            name = f'{file_name(column.run)}.{file_name(failed.line["id"])}.png'
            (folder / name).write_bytes(data)
            written += 1
    note(f'{written} of {len(chosen)} failures have a picture; written to {folder}')
