"""``sightplan calibrate``: learn the error rates of a model's answers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightplan.commands.flags import REQUIRED, option
from sightplan.commands.frame import DONE, FAILED, Result, add_command, note, print_table
from sightplan.console.progress import EpisodeBar
from sightplan.domains import domain_reference
from sightplan.model import Answer, Atom, InputError, Problem, user_path

if TYPE_CHECKING:
    from sightplan.domains import Domain
    from sightplan.model.logged import LoggedAction, LoggedAnswer
    from sightplan.records.answers_reading import Skip
    from sightplan.replay.batches import Source
    from sightplan.replay.sources import Sources
    from sightplan_belief.learning.calibration import CalibrationResult, PredicateReport
    from sightplan_belief.replay.hindsight import Recorded

_NO_PROMPT = 'none'

_EXAMPLES = """\
examples:
  sightplan problems generate --count 20 --seed 500 --out fresh
  sightplan run --problems fresh --table gpt-4.1 --answers-log --out runs/fresh
  sightplan calibrate --answers runs/fresh/answers.jsonl --out gpt-4.1.json
  sightplan run --split hard --method belief --method-option calibration=gpt-4.1.json \\
                --table gpt-4.1
  sightplan run --suite predicates --split all --out runs/eyes
  sightplan calibrate --run runs/eyes --domain household --out eyes.json
  sightplan run --domain household --problems fresh --method belief --bags all --out runs/warmup
  sightplan calibrate --em --run runs/warmup --out learned.json

Answers are JSON lines with the fields atom ("on r,g") and answer ("yes", "no", "unknown", or
null: unreadable), and truth (true, false) where it is known; optional are p_yes, p_no, image,
episode, problem, model, domain, questions_sha256 and prompt. A line that cannot be used is named
on standard error and left out. Without truth, or with --em, rates are learned by
expectation-maximisation over the constraints of the domain. Do not calibrate on the problems that
you measure on: the calibration names those it learned from.

--em --run of episodes with bags (--bags all, or recorded on a robot): what actions brought to
light tells which answers were wrong, too. Each episode is gone through as method belief would, and
what was true at each answer is judged by all that happened before and after. That is possible in
domains whose constraints only forbid (household); in others, and of runs without bags, the answers
alone are learned from, with a note. It does not go with --answers. Let the run ask
much (--method-option min_gain=0 --method-option settle=1): what is not asked teaches nothing.

gain: how much better than the defaults (what the domain's priors say of models, else generic
rates) the rates predict the answers of episodes that they were not learned from, in nats; a
predicate without gain keeps the defaults. ECE: expected calibration error of
P(atom true | answer), held out likewise, with the default and with the learned rates.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateArguments:
    """Arguments of ``sightplan calibrate``."""

    answers: tuple[str, ...] = option(
        (), 'JSON lines, such as the answers.jsonl of "sightplan run --answers-log"',
        metavar='FILE', listed=True)
    run: tuple[str, ...] = option(
        (), 'run directory: of a suite of yes/no questions, such as predicates, or of episodes '
        'with --answers-log; with --em also with --bags, or any folder of bags', metavar='DIR',
        listed=True)
    out: str = option(REQUIRED, 'calibration file to write', metavar='CAL')
    model: str = option(
        '', 'only the answers of this model; and the model of answers that name none',
        metavar='NAME')
    domain: str = option(
        '', 'only the lines about this domain (name or folder); and the domain of lines that '
        'name none', metavar='DOMAIN', read=domain_reference)
    prompt: str = option(
        '', 'only the answers to this prompt, such as ground or ground_cot; and the prompt of '
        f'answers that name none ("{_NO_PROMPT}": of a model that reads none)', metavar='NAME')
    em: bool = option(False, 'do not look at the truth')
    problems: tuple[str, ...] = option(
        (), "folder of problem files that the answers are about (repeatable); otherwise the "
        "domain's own splits, else objects are guessed from the atoms", metavar='DIR')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan calibrate``."""
    add_command(
        subparsers, 'calibrate', learn_rates, 'learn how reliable the answers of a model are',
        'Learn how reliable the answers of a model (and the actions of a world) are, per '
        'predicate, from logged answers.',
        settings=CalibrateArguments, examples=_EXAMPLES,
        exits='0 done; 1 done, but there are lines or recorded episodes that cannot be used; '
              '2 bad usage or bad files')


def learn_rates(arguments: CalibrateArguments) -> Result:
    """Learn, write, show; returns the report."""
    skipped = _Skipped()
    try:
        result = _calibrate(arguments, skipped)
    except InputError as error:
        files = [str(file) for file in (*(arguments.answers or ()), *(arguments.run or ()))]
        if any(file in str(error) for file in files):
            raise
        raise InputError(f'{", ".join(files)}: {error}') from error
    result.model.write(arguments.out)
    report = {**report_json(result, arguments.out), 'skipped': skipped.count}
    _show(report)
    for text in skipped.instead:
        note(f'sightplan calibrate: {text}')
    if skipped.count:
        note(f'sightplan calibrate: {skipped.count} lines cannot be used')
    return report, FAILED if skipped.count or skipped.episodes else DONE


class _Skipped:
    """Names and counts of left-out lines and recorded episodes."""

    count = episodes = 0

    def __init__(self) -> None:
        self.instead: list[str] = []  # why answers alone were learned from

    def __call__(self, error: InputError) -> None:
        self.count += 1
        note(f'sightplan calibrate: {error}')

    def no_episodes(self, where: str, remedy: str) -> None:
        """Note the reason why nothing can be learned from recorded episodes."""
        self.instead.append(f'{where}: no recorded episode can be used ({remedy}); learned from '
                            'the answers and the rules alone')


def _calibrate(arguments: CalibrateArguments, skip: _Skipped) -> CalibrationResult:
    from sightplan.domains import load_domain
    from sightplan_belief.learning.calibration import (
        calibrate,
        calibrate_unlabelled,
        check_same_origin,
        estimator_marginals,
    )
    if arguments.em and arguments.run and arguments.answers:
        raise InputError('--em --run learns from recorded episodes, and --answers from answers '
                         'alone: leave one of them out')
    episodes = _recorded(arguments, skip) if arguments.em and arguments.run else []
    if episodes:
        return _follow(episodes, arguments)
    answers, actions = _read(arguments, skip)
    domains = sorted({answer.domain for answer in answers})
    if len(domains) > 1:
        raise InputError(f'the answers are about {", ".join(domains)}; choose one with --domain')
    check_same_origin(answers, actions, prompts=False)
    domain = load_domain(arguments.domain or answers[0].domain)
    answers = [dataclasses.replace(a, questions_sha256=a.questions_sha256 or domain.question_hash)
               for a in answers]
    answers = _of_domain(answers, domain, skip)
    answers = _of_prompt(answers, arguments.prompt, domain)
    check_same_origin(answers, actions)
    problems = _problems(domain, arguments.problems)
    if arguments.em or all(answer.truth is None for answer in answers):
        with _Progress() as progress:
            return calibrate_unlabelled(answers, domain, estimator_marginals(domain), problems,
                                        progress=progress)
    return calibrate(answers, actions, domain, problems)


def _recorded(arguments: CalibrateArguments, skipped: _Skipped) -> list[Recorded]:
    """Episodes in bags that can be learned from; empty if a run has no such bags.

    Raises:
        InputError: a run cannot be read, or there are bags, but none of the wanted model, domain
            and prompt.
    """
    from sightplan.replay.sources import Sources
    bare = [folder for folder in arguments.run if not _has_bags(folder)]
    if bare:
        without = [folder for folder in bare if not _is_samples(user_path(folder))]
        if without:
            skipped.no_episodes(', '.join(without), 'run again with --bags all')
        elif len(bare) < len(arguments.run):
            skipped.no_episodes(', '.join(arguments.run), f'{", ".join(bare)} has none: leave it '
                                'out')
        return []
    every = _readable(Sources.find(arguments.run), ', '.join(arguments.run), skipped)
    prompt = arguments.prompt
    found = [e for e in every
             if (not arguments.model or _same('model', e.model, arguments.model))
             and (not arguments.domain or _same('domain', e.domain, arguments.domain))
             and (not prompt or prompt in (e.prompt, e.prompt.split('@')[0]))]
    if every and not found:
        there = sorted({f'{e.model}, {e.domain}, {e.prompt}' for e in every})
        raise InputError(f'{", ".join(arguments.run)}: there are only episodes of '
                         f'{"; ".join(there)} (choose with --model, --domain and --prompt)')
    return found


def _readable(sources: Sources, where: str, skipped: _Skipped) -> list[Recorded]:
    """The episodes of bags that can be learned from; the others are named and counted."""
    from sightplan_belief.replay.hindsight import recorded
    complete, lost = 0, 0

    def read() -> Iterator[Source]:
        nonlocal complete, lost
        for source in sources.read():
            lost += bool(source.episode.lost)
            complete += not source.episode.lost
            yield source

    found = recorded(read())
    paths = {bag.name: str(bag.path) for bag in sources.bags}
    for name, warnings in sources.warnings.items():
        text = '; '.join(warning.removeprefix(f'{paths[name]}: ') for warning in warnings)
        note(f'sightplan calibrate: {text if paths[name] in text else f"{paths[name]}: {text}"}')
    skipped.episodes += len(sources.unreadable) + lost
    if not found:
        skipped.no_episodes(where, 'the constraints of the domain demand that something holds: '
                            'give the answers alone, with --answers' if complete else
                            'run again with --bags all')
    return found


def _has_bags(folder: str) -> bool:
    from sightplan.records.bag_reading import find_bags
    try:
        return bool(find_bags(user_path(folder)))
    except InputError:
        return False


def _is_samples(folder: Path) -> bool:
    """Whether a run is one of a suite of samples.

    Raises:
        InputError: there is no run.
    """
    from sightplan.records import RunStore
    from sightplan.runs.suite_rules import SAMPLES
    return bool(RunStore(folder).run_info()['identity'].get('kind') == SAMPLES)


def _follow(episodes: Sequence[Recorded], arguments: CalibrateArguments) -> CalibrationResult:
    """Learn from episodes in hindsight."""
    from sightplan.model.logged import LoggedAnswer
    from sightplan_belief.learning.calibration import calibrate_episodes, check_same_origin
    episodes = [e for e in episodes if e.model]
    check_same_origin([LoggedAnswer(Atom('any'), Answer('Yes'), model=e.model, domain=e.domain,
                                    prompt=e.prompt) for e in episodes])
    if not episodes:
        raise InputError(f'{", ".join(arguments.run)}: nothing was asked in these episodes')
    with _Progress() as progress:
        return calibrate_episodes(
            episodes, episodes[0].source.episode.domain,
            progress=lambda number, count, over: progress(number, count, 0.0 if over else None))


def _read(arguments: CalibrateArguments, skip: Skip,
          ) -> tuple[list[LoggedAnswer], list[LoggedAction]]:
    """All lines of the wanted model and domain, their gaps filled.

    Raises:
        InputError: a file cannot be read, nothing is left, or model or domain are unknown.
    """
    from sightplan.records.answers_reading import read_answers
    answers: list[LoggedAnswer] = []
    actions: list[LoggedAction] = []
    _refuse_twice(arguments)
    sources = [functools.partial(read_answers, path, skip) for path in arguments.answers]
    sources += [functools.partial(_read_run, user_path(path), skip) for path in arguments.run]
    for number, read in enumerate(sources):
        found, moves = read()
        # Two runs name their episodes alike.
        answers += [dataclasses.replace(
            a, episode=f'{number}:{a.episode}', problem=a.problem or a.episode,
            model=a.model or arguments.model, domain=a.domain or arguments.domain) for a in found]
        actions += [dataclasses.replace(
            a, episode=f'{number}:{a.episode}', domain=a.domain or arguments.domain)
            for a in moves]
    if not answers:
        raise InputError(f'{", ".join((*arguments.answers, *arguments.run)) or "nothing"}: there '
                         'is not one answer (name a run of suite predicates with --run, or '
                         'answers written with "sightplan run --answers-log" with --answers)')
    for name, wanted in (('model', arguments.model), ('domain', arguments.domain)):
        there = sorted({getattr(a, name) for a in answers})
        if '' in there:
            first = next(a for a in answers if not getattr(a, name))
            raise InputError(f'{first.where or first.episode}: the answer is without the field '
                             f'"{name}" (say it with --{name})')
        if wanted:
            answers = [a for a in answers if _same(name, getattr(a, name), wanted)]
        if not answers:
            raise InputError(f'--{name} {wanted!r}: there are only answers of '
                             f'{", ".join(there)}')
    if arguments.domain:
        actions = [a for a in actions if _same('domain', a.domain, arguments.domain)]
    return answers, actions


def _same(field: str, one: str, other: str) -> bool:
    """Whether two values of a field mean the same: a domain's folder may have been moved."""
    from sightplan.model.logged import without_seed
    if field == 'domain':
        return one.rpartition('/')[2] == other.rpartition('/')[2]
    return without_seed(one) == without_seed(other)


def _refuse_twice(arguments: CalibrateArguments) -> None:
    """Refuse repeated answers: one copy would test what was learned from the other."""
    files = [(path, user_path(path)) for path in arguments.answers]
    files += [(path, user_path(path) / 'answers.jsonl') for path in arguments.run]
    seen = set[Path]()
    for given, file in files:
        if file.resolve() in seen:
            raise InputError(f'{given}: its answers are given twice; give them once')
        seen.add(file.resolve())


def _read_run(folder: Path, skip: Skip) -> tuple[list[LoggedAnswer], list[LoggedAction]]:
    """The answers in a run directory, of either kind.

    Raises:
        InputError: there is no run, or none of its answers can be learned from.
    """
    from sightplan.records.answers_reading import read_answers
    from sightplan.runs.samples import sample_answers
    if _is_samples(folder):
        return sample_answers(folder), []
    if not (folder / 'answers.jsonl').is_file():
        raise InputError(f'{folder}: the run kept no answers (repeat it with --answers-log)')
    return read_answers(folder / 'answers.jsonl', skip)


def _of_domain(answers: list[LoggedAnswer], domain: Domain, skip: Skip) -> list[LoggedAnswer]:
    """The answers about atoms of the domain; others are skipped.

    Raises:
        InputError: there are only others.
    """
    from sightplan_belief.learning.calibration import guess_problem
    wrong: dict[Atom, InputError] = {}
    for atom in {answer.atom for answer in answers}:
        try:
            guess_problem(domain, [atom])
        except InputError as error:
            wrong[atom] = error
    found = [answer for answer in answers if answer.atom not in wrong]
    if not found:
        raise wrong[answers[0].atom]
    for answer in answers:
        if answer.atom in wrong:
            skip(InputError(f'episode {answer.episode.partition(":")[2]!r}: '
                            f'{wrong[answer.atom]}'))
    return found


def _of_prompt(answers: list[LoggedAnswer], wanted: str, domain: Domain) -> list[LoggedAnswer]:
    """Answers to the wanted prompt, including those that name no prompt.

    Raises:
        InputError: there is no such prompt, or no answer to it.
    """
    if not wanted:
        if any(answer.prompt is None for answer in answers):
            note('sightplan calibrate: the answers do not say to which prompt they were given: '
                 'the calibration will be refused for models that read one (say it with '
                 '--prompt)')
        return answers
    named = ('' if wanted == _NO_PROMPT else wanted if '@' in wanted else
             domain.prompt_id(wanted))
    filled = [dataclasses.replace(a, prompt=named) if a.prompt is None else a for a in answers]
    found = [a for a in filled if wanted in (a.prompt, (a.prompt or _NO_PROMPT).split('@')[0])]
    if not found:
        there = sorted({a.prompt or _NO_PROMPT for a in filled})
        raise InputError(f'--prompt {wanted!r}: there are only answers to {", ".join(there)}')
    return found


def _problems(domain: Domain, folders: Sequence[str]) -> list[Problem]:
    from sightplan.domains import read_folder
    problems = [problem for split in domain.splits for problem in domain.split_problems(split)]
    for folder in folders:
        found, errors = read_folder(domain, user_path(folder))
        if errors:
            raise errors[0]
        problems += found
    return problems


class _Progress(EpisodeBar):
    """A bar on standard error while expectation-maximisation runs; silent off terminals."""

    def __init__(self) -> None:
        """Begin with the first iteration."""
        super().__init__(transient=True)
        self._iteration, self._evidence = 1, ''

    def __call__(self, image: int, images: int, log_evidence: float | None) -> None:
        """Show how far an iteration is; with an evidence, that it is over."""
        if self.plain:
            return
        if not self.total:
            self.begin('images of an iteration', images, 0)
        if log_evidence is not None:
            self._iteration += 1
            self._evidence = f', log evidence per image {log_evidence:.3f}'
        self.update(image if log_evidence is None else 0,
                    f'iteration {self._iteration}{self._evidence}')


def report_json(result: CalibrationResult, out: str | Path = '') -> dict[str, Any]:
    """The report as plain JSON data.

    ``predicates`` holds, for each, the rates that were kept, numbers of answers, held-out gains
    [nats], and the expected calibration error of P(atom true | answer) with the default rates
    and with rates learned from other episodes; ``all`` is that over all predicates.
    """
    from sightplan_belief.observation_model import ObservationModel
    model = result.model
    predictions = [p for report in result.predicates for p in report.predictions]
    rates = ObservationModel(predicates={
        report.predicate: report.rates for report in result.predicates}).to_json()['predicates']
    return {
        'out': str(out), 'model': model.model, 'domain': model.domain,
        'questions_sha256': model.questions_sha256, 'prompt': model.prompt,
        'learned': model.learned,
        'answers': model.answers, 'problems': len(model.problems),
        'iterations': result.iterations, 'episodes': result.episodes,
        'log_evidence': list(result.log_evidence),
        'predicates': {report.predicate: {
            **rates[report.predicate], **_report(report)}
            for report in result.predicates},
        'all': _errors(predictions),
        'actions': model.to_json()['actions'],
        'rejection': model.rejection,
        'execution_if_inapplicable': model.execution_if_inapplicable,
    }


def _report(report: PredicateReport) -> dict[str, Any]:
    return {'answers': report.answers, 'pairs': report.pairs, 'gain': report.gain,
            'platt_gain': report.platt_gain, 'kept': report.rates.learned != 'default',
            **_errors(report.predictions)}


def _errors(predictions: Sequence[Any]) -> dict[str, Any]:
    from sightplan.metrics import reliability
    errors: dict[str, Any] = {}
    for name, field in (('ece_default', 'default'), ('ece_learned', 'learned')):
        errors[name] = None
        if predictions:
            found = reliability([getattr(p, field) for p in predictions],
                                [p.truth for p in predictions],
                                groups=[p.episode for p in predictions])
            errors[name] = {'ece': found.ece, 'low': found.low, 'high': found.high, 'n': found.n}
    return errors


def _show(report: Mapping[str, Any]) -> None:
    learned = {'labels': 'from labelled answers', 'em': 'without labels'}[report['learned']]
    print(f'{report["model"]}, {report["domain"]}: {report["answers"]} answers about '
          f'{report["problems"]} problems, {learned}')
    rows = [(name, 'probabilities help' if row['platt'] else '' if row['kept'] else 'default kept',
             *(f'{row[key]:.3f}' for key in ('yes_true', 'yes_false', 'repeat')),
             f'{row["n_true"]:.0f}', f'{row["n_false"]:.0f}',
             '-' if row['gain'] is None else f'{row["gain"]:.1f}', _ece(row))
            for name, row in report['predicates'].items()]
    print_table(('predicate', '', 'yes|true', 'yes|false', 'repeat', 'true', 'false', 'gain',
                 'ECE'), [*rows, ('all', *[''] * 7, _ece(report['all']))], left=2)
    for name, action in report['actions'].items():
        print(f'{name}: {action["n"]:.0f} executions: success {action["success"]:.3f}, '
              f'nothing happens {action["no_op"]:.3f}, slip {action["slip"]:.3f}'
              + ''.join(f', {effect} {rate:.3f}' for effect, rate in action['effects'].items()))
    if report['episodes']:
        print(f'{report["iterations"]} iterations over {report["episodes"]} episodes, with what '
              f'actions brought to light')
    elif report['iterations']:
        first, last = report['log_evidence'][0], report['log_evidence'][-1]
        print(f'{report["iterations"]} iterations, log evidence per image {first:.2f} to '
              f'{last:.2f}')
    print(f'written: {report["out"]}')


def _ece(row: Mapping[str, Any]) -> str:
    if row['ece_default'] is None:
        return '-'
    return f'{row["ece_default"]["ece"]:.3f} > {row["ece_learned"]["ece"]:.3f}'
