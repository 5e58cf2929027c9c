"""``sightplan replay``: evaluation of recorded bags, without a robot."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    note,
    print_table,
    read_options,
    stop_flag,
)
from sightplan.commands.shared_flags import backend_names, backend_with, settings_flag
from sightplan.console.progress import EpisodeBar
from sightplan.console.results_table import show
from sightplan.model import (
    Answer,
    Asked,
    AskPurpose,
    InfrastructureError,
    InputError,
    Usage,
    settings_fields,
)
from sightplan.model.perception import QUESTION_PURPOSES
from sightplan.model.plugins import part
from sightplan.replay.asking import RECORDED, TODAY, Reply
from sightplan.runs import RunSettings

if TYPE_CHECKING:
    from sightplan.replay.another_model import AnotherModel, AskSettings
    from sightplan.replay.answers_store import Key
    from sightplan.replay.batches import Batch, Source, Truth
    from sightplan.replay.comparison import Pair
    from sightplan.replay.sources import Sources
    from sightplan.runs import Suite
    from sightplan_report.tables import Table

_MOST_SHOWN = 20

_EXAMPLES = """\
examples:
  sightplan replay runs/mine                       metrics again, from the bags alone
  sightplan replay --list runs/mine                what the bags hold
  sightplan replay runs/mine --backend embedded --out replays/embedded
  sightplan replay runs/mine --backend openai --model gpt-4.1 --limit 50 --out replays/gpt
  sightplan replay runs/mine --table gpt-4.1 --out replays/table
  sightplan replay runs/mine --method belief decode --calibration cal.json
  sightplan replay robot_bags/ --backend transformers --model DIR --labels labels.jsonl

a bag is a rosbag2 folder or file (MCAP or sqlite3); folders are searched for bags. Of a run
directory, only bags that its results name are used.
metrics: exit code 1 if those of a whole bag are not those of the live run (episodes.jsonl).
another model (--backend): it gets the recorded questions about the recorded images. Its answers
are in --out, in answers.jsonl, as they come ("sightplan calibrate" reads them); the same command
goes on where it was broken off.
estimators (--method): ground (the answers as they are), decode, belief; over the recorded answers
and, with --backend, over the new ones.
truth: that of the bag; labels (--labels, see "sightplan label") win over it. Without either,
models are compared by their agreement.
"""


(_ANSWERS,) = (field for field in settings_fields(RunSettings) if field.name == 'answers')


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayArguments:
    """Arguments of ``sightplan replay``."""

    paths: tuple[Path, ...] = argument(
        'bag, run directory, directory of a sweep, or any folder of bags', metavar='BAG_OR_FOLDER')
    list: bool = option(False, 'only say what the bags hold')
    backend: str | None = option(
        None, 'ask this backend the recorded questions', choices=backend_names,
        group='another model')
    model: str | None = option(
        None, 'short for --backend-option model=NAME', metavar='NAME', group='another model')
    backend_option: tuple[str, ...] = settings_flag('the backend', group='another model')
    table: str | None = option(
        None, 'short for --backend noisy_oracle --backend-option table=NAME', metavar='NAME',
        group='another model')
    answers: str | None = option(
        None, f'{_ANSWERS.description} (default: {_ANSWERS.default})', choices=_ANSWERS.choices,
        group='another model')
    questions: str | None = option(
        None, "wording of the questions: the recorded one, or that of the domain's files as they "
        "are now (default: recorded)", choices=(RECORDED, TODAY), group='another model')
    purpose: tuple[str, ...] = option(
        (), 'only questions that were asked for this (repeatable; default: all)',
        choices=tuple(purpose.value for purpose in QUESTION_PURPOSES), group='another model')
    limit: int | None = option(
        None, 'stop after N images; more can be asked later with the same --out', low=0,
        group='another model')
    seed: int | None = option(
        None, 'seed of a backend that has one (default: 0)', low=0, group='another model')
    grounder_timeout_s: float | None = option(
        None, 'wall-clock limit of the questions about one image [s] (default: '
        f'{RunSettings().grounder_timeout_s:g})', low=0.1, group='another model')
    method: tuple[str, ...] = option(
        (), 'methods whose estimators are compared: ground, decode, belief', metavar='NAME',
        listed=True, group='estimators')
    method_option: tuple[str, ...] = settings_flag('the methods that have it', group='estimators')
    calibration: str | None = option(
        None, 'calibration of the model whose answers are used (the new one, with --backend)',
        metavar='FILE', group='estimators')
    labels: tuple[str, ...] = option(
        (), 'what people saw in the images; wins over the truth of the bag (repeatable: what '
        'most saw counts)', metavar='FILE', group='truth')
    out: str | None = option(
        None,
        'directory of answers and tables (default with --backend: runs/<time>-replay-<backend>)',
        metavar='DIR', group='results')
    rerun: str | None = option(
        None, 'show the episodes in the Rerun viewer: a file to write, or what "sightplan run '
        '--rerun" takes', metavar='TARGET', group='results')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan replay``."""
    add_command(
        subparsers, 'replay', replay, 'metrics, other models and estimators on recorded bags',
        'Score bags again, ask another model their questions, or run other estimators over their '
        'answers.', settings=ReplayArguments, examples=_EXAMPLES,
        kept='answers that came are kept',
        exits='0 done; 1 metrics differ, nothing could be read, or broken off; 2 bad usage')


def replay(arguments: ReplayArguments) -> Result:
    """Read, ask, compare, show."""
    from sightplan.replay.sources import Sources
    arguments = dataclasses.replace(
        arguments, backend=backend_with(arguments.table, arguments.backend))
    _check(arguments)
    return _Command(arguments, Sources.find(arguments.paths)).run()


def _check(arguments: ReplayArguments) -> None:
    """Refuse combinations of flags that have no meaning.

    Raises:
        InputError: names the option and the remedy.
    """
    if arguments.backend is None:
        given = _given(arguments, 'model', 'backend_option', 'answers', 'questions', 'purpose',
                       'limit', 'seed', 'grounder_timeout_s')
        if given:
            raise InputError(f'{given} needs --backend: which model is to be asked?')
    if not arguments.method and (arguments.calibration or arguments.method_option):
        raise InputError('--calibration and --method-option need --method: which estimators?')
    given = _given(arguments, 'backend', 'method', 'labels', 'out') if arguments.list else ''
    if given:
        raise InputError(f'--list only says what the bags hold; leave out {given}')
    if arguments.rerun is not None:
        from sightplan_report.rerun_log import check_target
        check_target(arguments.rerun)
    if arguments.out is not None:
        from sightplan.replay.answers_store import check_folder
        check_folder(arguments.out)


def _given(arguments: ReplayArguments, *names: str) -> str:
    """The first of some options that was given, as it is written; '' if none was."""
    return next((f'--{name.replace("_", "-")}' for name in names
                 if getattr(arguments, name) not in (None, ())), '')


class _Command:
    """State of one call of ``sightplan replay``."""

    def __init__(self, arguments: ReplayArguments, sources: Sources) -> None:
        from sightplan.replay.batches import Truth
        self._arguments, self._sources = arguments, sources
        self._labels = None
        if arguments.labels:
            from sightplan_report.labelling.labels import read_labels
            self._labels = read_labels(arguments.labels)
            for text in self._labels.warnings:
                note(f'warning: {text}')
        self._truth: Truth = Truth(self._labels)
        self._tables: list[Table] = []
        self._code = DONE

    def run(self) -> Result:
        """Do it all; returns the result as plain JSON data, and the exit code."""
        arguments = self._arguments
        if arguments.list:
            result: dict[str, Any] = self._list()
        elif arguments.backend is None and not arguments.method:
            result = self._metrics()
        else:
            result = self._compare()
        result |= self._notes()
        if arguments.backend is not None:
            self._write(Path(result['out']), result)
        elif arguments.out:
            self._write(Path(arguments.out), result)
        if arguments.rerun:
            self._rerun(arguments.rerun)
        return result, self._code

    # --- what can be done -----------------------------------------------------------------------

    def _list(self) -> dict[str, Any]:
        from sightplan.replay.sources import describe
        found, rows = [], []
        for source in self._sources.read():
            entry = describe(source)
            found.append(entry)
            rows.append((
                source.name, source.title, entry['method'], entry['model'], entry['steps'],
                entry['questions'],
                f'{entry["images"]}{"" if entry["pictures"] else " (not in the bag)"}',
                'yes' if entry['truth'] else 'no', entry['ended'] or '-',
                '; '.join(entry['warnings']) or '-'))
        _print_table('', ('bag', 'episode', 'method', 'model', 'steps', 'questions', 'images',
                          'truth', 'ended', 'warnings'),
                     rows)
        return {'episodes': len(found), 'list': found}

    def _metrics(self) -> dict[str, Any]:
        from sightplan.replay.comparison import compare
        from sightplan.replay.rescored import score_again, summary_of
        pairs: list[Pair] = []
        with _Progress(len(self._sources.bags)) as progress:
            def scored(source: Source, line: Mapping[str, Any]) -> None:
                progress.episode(source.name)
                if self._labels is not None:
                    pairs.extend(self._recorded(source))
            again = list(score_again(self._sources, scored))
        summaries = [run.summary(str(run.run or 'bags')) for run in again if run.lines]
        for summary in summaries:
            show(summary)
            self._say_equal(summary)
        if len(summaries) == 1:
            result = summaries[0]
        else:
            compared = [run.equal for run in again if run.equal is not None]
            result = {
                **summary_of([line for run in again for line in run.lines],
                             _one([run.suite for run in again]),
                             ', '.join(map(str, self._arguments.paths))),
                'equal': all(compared) if compared else None, 'runs': summaries,
                'compared': sum(run.compared for run in again),
                'differing': {key: found for run in again for key, found in run.differing.items()},
                'without_bag': sum(run.without_bag for run in again)}
        if pairs:
            result['answers'] = compare(pairs)
            self._show_comparison('answers', result['answers'])
            print('labels count in these tables of answers; the metrics above take the truth of '
                  'the bags')
        return result

    def _say_equal(self, summary: Mapping[str, Any]) -> None:
        if summary['equal']:
            print(f'equal to the live metrics in all {summary["compared"]} episodes')
        for key, found in list(summary['differing'].items())[:_MOST_SHOWN]:
            self._code = FAILED
            note(f'differs from the live run: {key}: {"; ".join(found)}')
        if summary['without_bag']:
            print(f'{summary["without_bag"]} episodes of the run have no bag that can be read '
                  '(it was not kept, was moved, or is damaged)')

    def _recorded(self, source: Source) -> Iterator[Pair]:
        from sightplan.replay.batches import batches
        for batch in batches(source):
            yield from self._pairs(batch, None)

    def _pairs(self, batch: Batch, answers: Sequence[Answer] | None) -> Iterator[Pair]:
        from sightplan.replay.comparison import Pair
        event = batch.event
        for place, (question, old) in enumerate(zip(event.questions, event.answers, strict=True)):
            yield Pair(batch.source.episode.spec.id, question.atom.predicate,
                       event.purpose.value, old.verdict,
                       None if answers is None else answers[place].verdict,
                       self._truth.holds(batch.source, event.observation, question.atom))

    def _compare(self) -> dict[str, Any]:
        """Another model, other estimators, or both."""
        result: dict[str, Any] = {}
        estimators = self._estimators() if self._arguments.method else []
        answers: dict[Key, tuple[Answer, ...]] = {}
        other = None
        if self._arguments.backend is not None:
            from sightplan.replay.another_model import AnotherModel
            other = AnotherModel(self._ask_settings(self._arguments.backend), self._sources)
            result |= self._ask(other, answers if estimators else None)
        if estimators:
            result['estimates'] = self._estimate(estimators, other, answers)
        return result

    def _ask_settings(self, backend: str) -> AskSettings:
        """Settings for asking another model.

        Raises:
            InputError: a setting of the backend is wrong.
        """
        from sightplan.replay.another_model import AskSettings
        from sightplan.vlm.api import backend_settings
        arguments = self._arguments
        pairs = list(arguments.backend_option)
        pairs += [f'{key}={value}' for key, value in (
            ('table', arguments.table), ('model', arguments.model)) if value is not None]
        given: dict[str, Any] = {name: value for name, value in (
            ('answers', arguments.answers), ('wording', arguments.questions),
            ('limit', arguments.limit), ('seed', arguments.seed),
            ('timeout_s', arguments.grounder_timeout_s)) if value is not None}
        options = read_options(pairs, type(backend_settings(backend)),
                               '--backend-option')
        return AskSettings(
            backend, options,
            purposes=tuple(AskPurpose(p) for p in dict.fromkeys(arguments.purpose)), **given)

    def _ask(self, other: AnotherModel, keep: dict[Key, tuple[Answer, ...]] | None,
             ) -> dict[str, Any]:
        """Ask another model, compare its answers, and print errors."""
        from sightplan.replay.comparison import compare
        pairs: list[Pair] = []

        def taken(reply: Reply) -> None:
            pairs.extend(self._pairs(reply.batch, reply.answers))
            if keep is not None:
                keep[reply.batch.key] = tuple(dataclasses.replace(answer, text='')
                                              for answer in reply.answers or ())

        out = self._arguments.out or (f'runs/{datetime.datetime.now():%Y%m%d-%H%M%S}-replay-'
                                      f'{self._arguments.backend}')
        with stop_flag() as stop, _Progress(len(self._sources.bags), other.model) as progress:
            result = other.ask(
                out, lambda reply: [pair.truth for pair in self._pairs(reply.batch, None)],
                progress, taken, stop)
        note(f'{other.model}: {len(pairs)} answers, {progress.status() or "none of them new"}')
        for text in result['prompts_changed'].values():
            note(f'warning: {text}')
        models = result['recorded_models']
        if len(models) > 1:
            note(f'warning: the recorded answers are of {len(models)} models, which are counted '
                 f'as one ({", ".join(models)}); replay their runs apart to compare each')
        for what in ('image', 'truth'):
            if result[f'without_{what}']:
                note(f'warning: {result[f"without_{what}"]} batches of questions could not be '
                     f'asked: the bag lacks the {what}')
        if result['interrupted']:
            self._code = FAILED
            note(f'sightplan replay: {result["stopped_by"] or "stopped"}; {len(pairs)} answers '
                 f'are kept, and the same command with --out {result["out"]} goes on from there')
        if not result['batches'] and not result['interrupted']:
            print('the bags hold no such questions')
        result['comparison'] = compare(pairs)
        self._show_comparison('comparison', result['comparison'])
        return result

    def _estimators(self) -> list[Any]:
        from sightplan.agent import policy_settings
        estimates, arguments = part('estimates', 'sightplan_belief'), self._arguments
        given: dict[str, str] = {}
        for pair in arguments.method_option:
            key, equals, value = pair.partition('=')
            if not equals or not key:
                raise InputError(f'--method-option {pair!r} must have the form KEY=VALUE')
            given[key] = value
        if arguments.calibration is not None:
            given['calibration'] = arguments.calibration
        methods = list(dict.fromkeys(arguments.method))
        found = [estimates.Estimating(method) for method in methods]  # their names are known
        own = {f.name for method in methods
               for f in settings_fields(type(policy_settings(method)))}
        for key in given:
            if key not in own:
                raise InputError(f'--method-option: none of {", ".join(methods)} has a setting '
                                 f'{key!r}; there are {", ".join(sorted(own))}')
        return [estimates.Estimating(each.method, estimates.options_of(
            each.method, given, read_options)) for each in found]

    def _estimate(self, estimators: list[Any], other: AnotherModel | None,
                  answers: Mapping[Key, tuple[Answer, ...]]) -> dict[str, Any]:
        from sightplan.replay.batches import with_batches
        from sightplan_report.replay.tables import estimates_table
        estimates = part('estimates', 'sightplan_belief')
        results: dict[str, Any] = {}

        def sources(new: bool) -> Iterator[Source]:
            def changed(batch: Batch) -> Asked | None:
                if other is None:
                    return batch.event
                if batch.key not in answers:
                    return None
                return batch.event if not new else dataclasses.replace(
                    batch.event, replies=tuple(answers[batch.key]), model=other.model,
                    prompt=batch.event.prompt if other.reads_prompt else '', usage=None)
            with _Progress(len(self._sources.bags), 'estimating') as progress:
                for source in self._sources.read():
                    yield with_batches(source, changed)
                    progress.episode(source.name)

        if other is None or self._arguments.calibration is None:
            results['recorded'] = estimates.estimate(sources(False), estimators, self._truth)
        if other is not None:
            results['new'] = estimates.estimate(sources(True), estimators, self._truth)
        if not any(found['moments'] for found in results.values()):
            print('the bags hold no questions: there are no answers to estimate from')
        table = estimates_table(results)
        self._tables.append(table)
        _print_table('estimators', (
            'answers', 'estimator', 'accuracy (95 %)', 'gain over ground (95 %)', 'exact states',
            'Brier', 'log loss', 'ECE', 'as ground'), [
            (row['answers'], row['estimator'], _interval(row, 'accuracy'),
             _interval(row, 'gain', 'gain_', '+'), _number(row.get('exact_states')),
             *(_number(row.get(key)) for key in ('brier', 'log_loss', 'ece')),
             _number(row.get('agreement'))) for row in table.rows], table.note)
        return results

    def _show_comparison(self, name: str, comparison: Mapping[str, Any]) -> None:
        from sightplan_report.replay.tables import comparison_table
        table = comparison_table(name, comparison)
        self._tables.append(table)
        rows = table.rows
        if comparison['with_truth']:
            _print_table('answers by predicate', (
                'predicate', 'model', 'n', 'accuracy (95 %)', 'balanced', 'true positives',
                'false positives', 'unreadable', 'unknown'), [
                (row['predicate'], side, row[f'{side}_n'], _interval(
                    row, f'{side}_accuracy', f'{side}_'),
                 *(_number(row.get(f'{side}_{key}')) for key in (
                     'balanced_accuracy', 'true_positive_rate', 'false_positive_rate')),
                 row[f'{side}_unparsed'], row[f'{side}_unknown'])
                for row in rows for side in ('recorded', 'new')
                if row.get(f'{side}_n') is not None])
        if any(row.get('mcnemar_p') is not None for row in rows):
            _print_table('the same questions', (
                'predicate', 'only recorded right', 'only new right', 'new - recorded (95 %)',
                'McNemar p', 'Holm'), [
                (row['predicate'], row['only_recorded'], row['only_new'],
                 _interval(row, 'difference', 'difference_', '+'), _p(row['mcnemar_p']),
                 _p(row.get('mcnemar_p_holm'))) for row in rows
                if row['mcnemar_p'] is not None], table.note)
        if any(row.get('agreement_same') is not None for row in rows):
            _print_table('agreement', (
                'predicate', 'readable by both', 'same', 'fraction', 'kappa', 'yes recorded',
                'yes new'), [
                (row['predicate'], row['agreement_readable'], row['agreement_same'],
                 _number(row.get('agreement_fraction')), _number(row.get('agreement_kappa')),
                 _number(row.get('yes_recorded')), _number(row.get('yes_new')))
                for row in rows if row['agreement_same'] is not None])
        known, asked = comparison['with_truth'], comparison['questions']
        if known < asked:
            print(f'the truth is known of {known} of {asked} questions')

    def _rerun(self, target: str) -> None:
        from sightplan_report.rerun_log import RerunLog, log_episode
        try:
            with RerunLog(target) as log:
                for source in self._sources.read():
                    log_episode(source.episode, log)
        except (InputError, InfrastructureError) as error:  # the result is told all the same
            note(f'sightplan replay: {error}')
            self._code = FAILED

    # --- what is said at the end ----------------------------------------------------------------

    def _notes(self) -> dict[str, Any]:
        """Print warnings about bags; returns counts of bags and labels for the summary."""
        sources = self._sources
        for name, warnings in list(sources.warnings.items())[:_MOST_SHOWN]:
            note(f'warning: {name}: {"; ".join(warnings)}')
        if len(sources.warnings) > _MOST_SHOWN:
            note(f'warning: {len(sources.warnings)} bags are damaged')
        if sources.left_out:
            note(f'{len(sources.left_out)} bags of episodes that were broken off are left out '
                 f'(name one itself to replay it)')
        if len(sources.unreadable) == len(sources.bags):
            note('sightplan replay: nothing could be read')
            self._code = FAILED
        notes: dict[str, Any] = {
            'bags': len(sources.bags), 'damaged': len(sources.warnings),
            'unreadable': len(sources.unreadable), 'warnings': sources.warnings,
            'left_out': [str(path) for path in sources.left_out]}
        if self._labels is not None:
            truth = self._truth
            print(f'{truth.labelled} labels were used; of these the bags know {truth.compared}, '
                  f'too, and differ in {len(truth.disagreements)}')
            notes['labels'] = {
                'used': truth.labelled, 'compared': truth.compared,
                'disagreements': len(truth.disagreements),
                'disagreeing': [{'episode': episode, 'image': image, 'atom': str(atom),
                                 'label': label}
                                for episode, image, atom, label in truth.disagreements]}
        return notes

    def _write(self, folder: Path, result: Mapping[str, Any]) -> None:
        """Write result and tables."""
        from sightplan_report.replay.tables import write_results
        write_results(folder, result, self._tables)


class _Progress(EpisodeBar):
    """Progress on standard error: a bar on a terminal, a line per bag elsewhere."""

    def __init__(self, total: int, what: str = 'replaying') -> None:
        super().__init__()
        self._bags, self._what = total, what
        self._spent: Usage | None = None
        self._answers = 0

    def __enter__(self) -> Self:
        super().__enter__()
        self.begin(self._what, self._bags, 0)
        return self

    def started(self, folder: Path, there: int) -> None:
        """Print where answers are kept."""
        self.say(f'results: {folder}'
                 + (f' ({there} answers exist already)' if there else ''))

    def answered(self, new: int, spent: Usage | None) -> None:
        """Count new answers, and note the spending so far."""
        self._answers += new
        self._spent = spent
        self.update(self.done, self.status())

    def episode(self, name: str) -> None:
        """Advance by one episode; a bag may hold several."""
        self.total = max(self.total, self.done + 1)
        self.update(self.done + 1, self.status())
        if self.plain:
            status = self.status()
            self.say(f'[{self.done}/{self.total}] {self._what}: {name}'
                     f'{", " + status if status else ""}, ETA {self.time_left}')

    def status(self) -> str:
        """Text on the answers so far, and their cost."""
        used = self._spent
        texts = [f'{self._answers} new answers'] if self._answers else []
        if used is not None and used.prompt_tokens:
            texts.append(f'{used.prompt_tokens + used.completion_tokens} tokens')
        if used is not None and used.cost_usd is not None:
            texts.append(f'{used.cost_usd:.4f} USD')
        return ', '.join(texts)


def _print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]],
                 below: str = '') -> None:
    print_table(headings, rows, title, left=2)
    print(f'{below}\n' if below else '')


def _one(suites: Sequence[Suite | None]) -> Suite | None:
    """The suite that all have, None if they differ."""
    return suites[0] if all(suite == suites[0] for suite in suites) else None


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.4f}'


def _p(value: float | None) -> str:
    return _number(value) if value is None or value >= 1e-4 else '< 0.0001'


def _interval(row: Mapping[str, Any], key: str, stem: str = '', sign: str = '') -> str:
    if row.get(key) is None:
        return '-'
    return f'{row[key]:{sign}.4f} ({row[f"{stem}low"]:.4f} to {row[f"{stem}high"]:.4f})'
