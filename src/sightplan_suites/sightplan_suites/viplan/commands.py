"""Verbs of ``sightplan suite viplan``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.commands.flags import REQUIRED, argument, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note
from sightplan.console.progress import EpisodeBar
from sightplan.model import user_path

_MOST_NAMED = 20
"""Number of sentences of a kind that are printed; ``--json`` lists all."""
_EXAMPLES = """\
examples:
  sightplan suite viplan import ~/ViPlan/results/final --out runs/authors
  sightplan suite viplan import ~/ViPlan/results/final/igibson --out runs/authors
  sightplan report runs/authors
  sightplan report runs/authors runs/mine
  sightplan failures runs/authors
  sightplan calibrate --run runs/authors/blocksworld-ground-hard-gpt-4.1 --out gpt-4.1.json

A file .../DOMAIN/SETTING/KIND/SPLIT/MODEL/results_*.json becomes one run directory; of several
files of one model the last one by name counts. The same command again imports what is new or was
changed. What the files do not record is null. Nothing can be added to an imported run.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportArguments:
    """Arguments of ``sightplan suite viplan import``."""

    folder: Path = argument(
        "the authors' results/final, or any folder of it", metavar='DIR')
    out: Path = option(REQUIRED, 'folder for the runs, one for each file; it is made',
                       metavar='RUNS')


def import_results(arguments: ImportArguments) -> Result:
    """Turn the authors' result files into runs."""
    from sightplan_suites.viplan.importing import import_folder
    folder, out = user_path(arguments.folder), user_path(arguments.out)
    with EpisodeBar(transient=True) as bar:
        done = import_folder(folder, out, lambda number, total: bar.stage('files', number, total))
    _say('', done.earlier)
    _say('', done.notes)
    _say('skipped: ', [f'{one["file"]}: {one["reason"]}' for one in done.skipped])
    kept = f', {len(done.kept)} were there already' if done.kept else ''
    print(f'{len(done.runs)} runs with {done.episodes} episodes in {out}{kept}, '
          f'{len(done.skipped)} files skipped')
    return {'suite': 'viplan', 'folder': str(folder), 'out': str(out),
            'runs': [str(run) for run in done.runs], 'kept': [str(run) for run in done.kept],
            'episodes': done.episodes, 'skipped': done.skipped, 'earlier': done.earlier,
            'notes': done.notes}, FAILED if done.skipped else DONE


def _say(before: str, sentences: list[str]) -> None:
    """Print the first sentences of a kind, and how many more there are."""
    for sentence in sentences[:_MOST_NAMED]:
        note(f'{before}{sentence}')
    if len(sentences) > _MOST_NAMED:
        note(f'... and {len(sentences) - _MOST_NAMED} more (--json has all)')


def add_parsers(verbs: Any) -> None:
    """Register the verbs that this suite has of its own."""
    add_command(
        verbs, 'import', import_results,
        "turn the authors' result files into runs, which report, failures and others take",
        settings=ImportArguments, examples=_EXAMPLES,
        exits='0 done; 1 some files cannot be used, which are named; 2 bad usage or no result '
              'file')
