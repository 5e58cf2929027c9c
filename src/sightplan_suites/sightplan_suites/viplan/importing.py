"""Runs made of the authors' result files, which every command that reads runs takes.

A file becomes a run directory: ``run.json`` with the identity (``imported`` names the file and its
hash), ``episodes.jsonl``, of the model as grounder ``answers.jsonl``, and ``summary.json``. What
the files do not record is null: durations, seeds, numbers of observations and of privileged facts,
and the questions of enumerations that are missing because no plan followed them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import sightplan
from sightplan.metrics.failures import failure_of
from sightplan.metrics.judgements import CHECKS, WRONG_ANSWER
from sightplan.metrics.scorer import COUNTS, EpisodeScorer
from sightplan.model import (
    AskPurpose,
    Atom,
    EpisodeEnded,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    InputError,
    PlanningStatus,
    Privileged,
    Problem,
    ProposalStatus,
    StopReason,
    Verdict,
)
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan.runs.imported_runs import BACKEND, import_session, is_imported, write_imported
from sightplan.runs.rules import RULES, of_suite
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan_suites.viplan.official import (
    Content,
    GroundEntry,
    OfficialAction,
    OfficialAnswer,
    OfficialFile,
    PlanEntry,
    find_files,
    read_official,
    sha256_of,
)
from sightplan_suites.viplan.paper_figures import FIRST, Figures, figures_of

PROTOCOL = 'paper'
"""The protocol of the suite that sets what the authors' code does."""
PROBLEMS = "the authors' problem files"
"""Words in place of the hash of the problems, of which only the names are known."""
NOT_RECORDED = 'not_recorded'
"""The reason for the end of an episode that the files do not tell."""
_NO_REASON = {
    'ground': "the file has no reason; in the authors' code a false precondition out of view, an "
              'atom that the simulator does not have and an unreadable answer end an episode',
    'plan': "the file has no reason; in the authors' code a reply that is no JSON ends an "
            'episode'}
_NO_OP = 'no-op'
"""Word of the authors' environment for an action that changed nothing by chance."""
_VERDICTS = {True: Verdict.YES.value, False: Verdict.NO.value, None: Verdict.UNPARSED.value}
_SIDES = {True: ('yes_asked', 'yes_right'), False: ('no_asked', 'no_right')}
_TRUTHS = {True: 'true', False: 'false', None: 'null'}
_PROBLEMS_OF_SPLIT = 25
"""Number of problems of each split of the paper, in both domains."""
_TOLERANCE = 1e-6
"""Difference of a stated and a recomputed figure that is rounding [fraction]."""


# ------------------------------------------------------------------------------ all of a folder


@dataclass
class Imported:
    """Result of importing the files of a folder.

    Attributes:
        runs: directories that were written, in order.
        kept: directories that held the same file already.
        episodes: number of episodes in ``runs``.
        skipped: files that cannot be used, and why.
        earlier: files that do not count, because their model's folder has a later one.
        notes: figures that a file states otherwise than its episodes give them, and files that
            have not all problems of their split.
    """

    runs: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    episodes: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_folder(folder: Path, out: Path,
                  progress: Callable[[int, int], None] = lambda done, total: None) -> Imported:
    """Turn all result files below a folder into run directories, one file at a time.

    Args:
        folder: the authors' ``results/final``, or any folder of it.
        out: folder for the run directories; it is made.
        progress: is told the number of files that are done, and of all.

    Raises:
        InputError: there is no such folder, or not one result file in it.
        OSError: ``out`` cannot be written; the runs that are finished stay.
    """
    files, earlier, skipped = find_files(folder)
    if not files:
        raise InputError(f'{folder}: holds no result file' + (
            f'; {skipped[0]["file"]}: {skipped[0]["reason"]}' if skipped else
            " results_*.json (give the authors' results/final)"))
    done = Imported(skipped=skipped, earlier=[
        f'{one.path}: does not count, because a later file lies beside it' for one in earlier])
    out.mkdir(parents=True, exist_ok=True)
    session = import_session()
    for number, file in enumerate(files):
        progress(number, len(files))
        try:
            _import_file(file, out / run_name(file), session, done)
        except InputError as error:
            done.skipped.append(skip(str(file.path), reason_of(error, str(file.path))))
    progress(len(files), len(files))
    return done


def run_name(file: OfficialFile) -> str:
    """Name of the run directory of a file."""
    failing = f'-failures{file.failure_probability:g}' if file.failure_probability else ''
    return f'{file.domain}-{file.method}{failing}-{file.split}-{file.model}'


def _import_file(file: OfficialFile, folder: Path, session: Mapping[str, Any], done: Imported,
                 ) -> None:
    if is_imported(folder, sha256_of(file.path)):
        done.kept.append(folder)
        return
    content = read_official(file)
    lines, answers = [], []
    for name, entry in content.entries.items():
        made = (_Ground(file, name, entry) if isinstance(entry, GroundEntry)
                else _Plan(file, name, entry))
        made.line['cluster'] = f'{file.domain}/{file.split}/{content.worlds[name]}'
        lines.append(made.finished())
        answers += made.answers
    write_imported(folder, load_suite('viplan'), identity_of(file, content), lines, session,
                   answers)
    done.runs.append(folder)
    done.episodes += len(lines)
    done.notes += [*_differences(file, content.figures, figures_of(lines)),
                   *_missing(file, len(lines))]


def _differences(file: OfficialFile, stated: Mapping[str, float], found: Figures) -> list[str]:
    """Sentences about the figures that a file states otherwise."""
    return [f'{file.path}: {name} is {stated[name]:.4f} in the file, and its episodes give '
            f'{value:.4f}' for name, value in found.as_json().items()
            if value is not None and name in stated
            and abs(stated[name] - value) > _TOLERANCE]


def _missing(file: OfficialFile, count: int) -> list[str]:
    """A sentence about a file with fewer problems than the paper has."""
    if count >= _PROBLEMS_OF_SPLIT:
        return []
    whole = f"the paper's split has {_PROBLEMS_OF_SPLIT}"
    return [f'{file.path}: has {count} problems, and {whole}; figures are of a part of the split']


def identity_of(file: OfficialFile, content: Content) -> dict[str, Any]:
    """The identity of an imported run."""
    suite, method = load_suite('viplan'), file.method
    return {
        'sightplan': sightplan.__version__, 'suite': suite.name, 'kind': 'episodes',
        'domain': file.domain, 'split': file.split,
        'problems': {'count': len(content.entries), 'sha256': PROBLEMS},
        'method': {'name': method}, 'backend': {'name': BACKEND}, 'model': file.model,
        'answers': 'prefix' if method.startswith('ground') else None, 'seed': None,
        **{rule: {file.split: of_suite(rule, suite, file.domain, method, file.split, PROTOCOL)}
           for rule in RULES},
        'failure_probability': file.failure_probability, 'protocol': PROTOCOL,
        'imported': {'file': file.place, 'sha256': content.sha256}}


# ------------------------------------------------------------------------------- lines of results


class _Episode:
    """A line of results that is being made.

    Attributes:
        line: the line; what it has no value for is as in an episode without events, or null.
        answers: lines of ``answers.jsonl``, as text.
    """

    def __init__(self, file: OfficialFile, name: str) -> None:
        suite = load_suite('viplan')
        rules = {rule: of_suite(rule, suite, file.domain, file.method, file.split, PROTOCOL)
                 for rule in ('max_actions', 'stop_at_goal')}
        level = Privileged(of_suite('privileged', suite, file.domain, file.method, file.split,
                                    PROTOCOL))
        spec = EpisodeSpec(
            f'{file.domain}/{file.split}/{name}#0',
            Problem(name, file.domain, {}, frozenset(), ()), file.method, file.split,
            failure_probability=file.failure_probability, privileged=level, **rules)
        self._file, self._suite, self.answers = file, suite, list[str]()
        self.line = _without_events(suite, spec)
        self.line |= {'seed': None, 'seconds': None, 'observations': None, 'model': file.model,
                      'privileged_facts': 0 if level is Privileged.NONE else None}

    def _finish(self, solved: bool, stop: str, message: str) -> dict[str, Any]:
        line, actions = self.line, self.line['actions']
        counts = {status.value: sum(step['status'] == status.value for step in actions)
                  for status in FeedbackStatus}
        line |= {'stop': stop, 'message': message, 'steps': len(actions), **counts,
                 'actions_right': sum(step['right'] for step in actions),
                 'answer': [step['action'] for step in actions
                            if step['status'] in (FeedbackStatus.EXECUTED.value,
                                                  FeedbackStatus.REJECTED.value)]}
        if line['remaining'] is None:
            line |= {'actions_right': None, 'actions_counted': None}
        else:
            planned = any(plan['status'] == PlanningStatus.SOLVED.value for plan in line['plans'])
            line['actions_counted'] = (len(actions) + line['remaining']
                                       if planned or actions else 1)
        line['measures'] = dict(self._suite.episode_measures(line, solved))
        failure = failure_of(line)
        if failure is not None:
            line['failure'], line['cause'] = failure.to_json(), failure.cause.value
        return line

    def _step(self, action: str, status: FeedbackStatus, info: str, **more: Any) -> None:
        """Note a step, with what the authors' environment said of it."""
        outcome = {FeedbackStatus.EXECUTED: 'no_op' if info == _NO_OP else info,
                   FeedbackStatus.REJECTED: 'illegal'}.get(status, '')
        self.line['actions'].append({
            'action': action, 'status': status.value, 'outcome': outcome, 'right': False,
            'image_id': '', 'stamp_ns': 0, 'effects': None, 'misled': [], 'applicable': {
                FeedbackStatus.EXECUTED: True, FeedbackStatus.REJECTED: False}.get(status),
            **more})


def _without_events(suite: Suite, spec: EpisodeSpec) -> dict[str, Any]:
    """The line of an episode of which nothing is known but how it began."""
    scorer = EpisodeScorer(None, suite.name)
    scorer.record(EpisodeStarted(spec))
    scorer.record(EpisodeEnded(StopReason.PLAN_DONE))
    return scorer.result()


class _Ground(_Episode):
    """An episode with the model as grounder."""

    def __init__(self, file: OfficialFile, name: str, entry: GroundEntry) -> None:
        super().__init__(file, name)
        self._entry, self._executed = entry, 0
        self._before = json.dumps({
            'episode': self.line['id'], 'split': file.split,
            'problem': f'{file.split}/{name}', 'domain': file.domain, 'model': file.model,
        })[:-1]
        self._probabilities = not file.method.endswith('_cot')

    @cached_property
    def _planned(self) -> bool:
        """Whether there ever was a plan."""
        entry = self._entry
        return bool(entry.action_results or entry.remaining or entry.goal_reached or (
            self._file.domain == 'household'))

    def finished(self) -> dict[str, Any]:
        """The line of the episode."""
        entry, line = self._entry, self.line
        first = entry.first.results if entry.first else {}
        steps = entry.action_results
        if first:
            self._enumerate(first)
            line['details'] = {FIRST: [sum(bool(one.right) for one in first.values()),
                                       len(first)]}
        replans = self._replans_at()
        self._plan(0, self._planned, (len(steps) + (entry.remaining or 0))
                   if not entry.replans and entry.remaining is not None else None)
        for number, step in enumerate(steps):
            self._check(number, step)
            for replan in replans.get(number + 1, ()):
                self._enumerate(replan.results)
                self._plan(number + 1, bool(replan.actions), len(replan.actions or ()) or None)
        line['remaining'] = entry.remaining if self._planned else 0
        line['questions'] = len(self.answers)
        stop, message = self._end()
        return self._finish(entry.goal_reached, stop, message)

    def _replans_at(self) -> dict[int, list[Any]]:
        """The new plans by the number of steps before them: each follows a setback."""
        steps = [number + 1 for number, step in enumerate(self._entry.action_results)
                 if step.setback]
        found: dict[int, list[Any]] = {}
        for index, replan in enumerate(self._entry.replans):
            last = steps[-1] if steps else len(self._entry.action_results)
            found.setdefault(steps[index] if index < len(steps) else last, []).append(replan)
        return found

    def _end(self) -> tuple[str, str]:
        """Why the episode ended, and what is to be said about it."""
        entry, line = self._entry, self.line
        steps = entry.action_results
        last = steps[-1] if steps else None
        unread = last.unread if last else any(
            one.says is None for one in (entry.first.results if entry.first else {}).values())
        if len(steps) >= line['max_actions'] and (last is None or last.setback
                                                  or entry.remaining != 0):
            return StopReason.BUDGET.value, ''
        if unread and not entry.goal_reached:
            return StopReason.UNPARSED.value, "the authors' code ends there"
        if last is not None and last.illegal and len(steps) > 1 and (
                steps[-2].action == last.action):
            return StopReason.REPEATED_ILLEGAL.value, ''
        if not self._planned:
            return StopReason.NO_PLAN.value, ''
        if last is not None and last.setback:
            if self._file.domain == 'household' and (
                    line['plans'][-1]['step'] < len(steps)):
                return NOT_RECORDED, _NO_REASON['ground']
            return StopReason.NO_PLAN.value, self._failed_replan()
        if entry.remaining == 0:
            return StopReason.PLAN_DONE.value, ''
        return NOT_RECORDED, _NO_REASON['ground']

    def _failed_replan(self) -> str:
        """Note the plan that was not found after the last step, if the file leaves it out."""
        steps = len(self._entry.action_results)
        if self.line['plans'][-1]['step'] == steps:
            return ''
        self._plan(steps, False, None)
        self.line['questions'] = None
        return 'the file leaves out the questions and answers after the last action'

    def _plan(self, step: int, solved: bool, length: int | None) -> None:
        status = PlanningStatus.SOLVED if solved else PlanningStatus.UNSOLVABLE
        self.line['plans'].append({'status': status.value, 'step': step,
                                   'length': length if solved else None, 'seconds': None,
                                   'cached': None})

    def _enumerate(self, answers: Mapping[str, OfficialAnswer]) -> None:
        step = len(self.line['actions'])
        self._take(AskPurpose.ENUMERATION, step, answers)
        self.line['enumerations'].append(all(one.right for one in answers.values()))
        self.line['enumerated_at'].append(step)

    def _check(self, number: int, step: OfficialAction) -> None:
        """Take the answers about an action, and the action itself."""
        before, after = step.preconditions, step.effects
        wrong_before = self._take(AskPurpose.PRECONDITION, number, before)
        status = (FeedbackStatus.WITHHELD if step.withheld else
                  FeedbackStatus.REJECTED if step.illegal else FeedbackStatus.EXECUTED)
        broken = self._count_check(AskPurpose.PRECONDITION, before)
        executed = status is FeedbackStatus.EXECUTED
        more: dict[str, Any] = {}
        if status is FeedbackStatus.WITHHELD:
            known = all(one.truth is not None for one in before.values())
            more = {'applicable': not broken[1] if known and not step.hidden else None}
            self.line['withheld_true_positive'] += broken[1]
        if not executed:
            more['misled'] = wrong_before
        self._step(step.action, status, step.info, **more)
        entry = self.line['actions'][-1]
        self._executed += executed
        if after:
            wrong = self._take(AskPurpose.EFFECT, number + 1, after)
            positive, truly = self._count_check(AskPurpose.EFFECT, after)
            entry['effects'] = _check_name(positive, truly)
            entry['misled'] = wrong if entry['effects'].startswith('false') else []
        entry['right'] = executed and all(one.right for one in (*before.values(), *after.values()))

    def _count_check(self, purpose: AskPurpose, answers: Mapping[str, OfficialAnswer],
                     ) -> tuple[bool, bool]:
        """Whether answers, and whether the truth, differ from what was expected."""
        positive = any(one.says is not None and one.mismatch for one in answers.values())
        truly = any(None not in (one.truth, one.expected) and one.truth is not one.expected
                    for one in answers.values())
        if answers:
            checks = self.line['checks'].setdefault(purpose.value, dict.fromkeys(CHECKS, 0))
            checks[_check_name(positive, truly)] += 1
        return positive, truly

    def _take(self, purpose: AskPurpose, step: int, answers: Mapping[str, OfficialAnswer],
              ) -> list[dict[str, Any]]:
        """Count and log answers; returns the wrong ones, as lines of results list them."""
        if not answers:
            return []
        table = self.line['predicates'].setdefault(purpose.value, {})
        kind = purpose.value
        head = (f'{self._before}, "step": {step}, "image": "{self._executed}", '
                f'"stamp_ns": null, "purpose": "{kind}", "atom": ')
        wrong: list[dict[str, Any]] = []
        for key, one in answers.items():
            atom, predicate = _atom_texts(key)
            self.answers.append(f'{head}"{atom}"{self._logged(one)}')
            if one.right is None:
                continue
            counts = table.get(predicate)
            if counts is None:
                counts = table[predicate] = dict.fromkeys(COUNTS, 0)
            _count(counts, one)
            if not one.right:
                wrong.append({'purpose': kind, 'atom': atom, 'answer': _VERDICTS[one.says],
                              'step': step, 'image_id': '', 'stamp_ns': 0, 'truth': one.truth})
        self.line['wrong'] += [[one[key] for key in WRONG_ANSWER] for one in wrong]
        return wrong

    def _logged(self, one: OfficialAnswer) -> str:
        """The end of an answer's line in ``answers.jsonl``.

        Probabilities are those of the first token, which say nothing about an answer behind
        reasons.
        """
        said = 'null' if one.says is None else f'"{_VERDICTS[one.says]}"'
        p_yes, p_no = ('null' if p is None else repr(p) for p in (
            (one.p_yes, one.p_no) if self._probabilities else (None, None)))
        return (f', "answer": {said}, "p_yes": {p_yes}, "p_no": {p_no}, '
                f'"truth": {_TRUTHS[one.truth]}}}\n')


def _count(counts: dict[str, int], one: OfficialAnswer) -> None:
    """Count an answer that is known to be right or wrong."""
    right = int(bool(one.right))
    counts['asked'] += 1
    counts['right'] += right
    if one.says is None:
        counts['unparsed'] += 1
    if one.truth is not None:
        asked, good = _SIDES[one.truth]
        counts[asked] += 1
        counts[good] += right


@functools.lru_cache(maxsize=4096)
def _atom_texts(key: str) -> tuple[str, str]:
    """The atom of a key, as our results write it, and its predicate."""
    atom = Atom.parse(key)
    return str(atom), atom.predicate


def _check_name(positive: bool, truly: bool) -> str:
    """One of ``CHECKS``."""
    return f'{"true" if positive == truly else "false"}_{"positive" if positive else "negative"}'


class _Plan(_Episode):
    """An episode with the model as planner."""

    def __init__(self, file: OfficialFile, name: str, entry: PlanEntry) -> None:
        super().__init__(file, name)
        self._entry = entry

    def finished(self) -> dict[str, Any]:
        """The line of the episode."""
        entry, proposals = self._entry, self.line['proposals']
        for attempt in entry.attempts:
            status = attempt.status
            unknown = {'proposal': ProposalStatus.UNKNOWN_ACTION.value} if (
                status is FeedbackStatus.INVALID) else {}
            self._step(attempt.action, status, attempt.info, **unknown)
        empty = sum(not plan for plan in entry.plans)
        invalid = sum(step['status'] == FeedbackStatus.INVALID.value
                      for step in self.line['actions'])
        planned = max(0, len(entry.plans) - empty - invalid)
        for kind, count in ((ProposalStatus.PLANNED, planned), (ProposalStatus.EMPTY, empty),
                            (ProposalStatus.UNKNOWN_ACTION, invalid)):
            if count:
                proposals[kind.value] = count
        return self._finish(entry.completed, *self._end())

    def _end(self) -> tuple[str, str]:
        entry, steps = self._entry, len(self.line['actions'])
        if entry.completed:
            return StopReason.GOAL_REACHED.value, ''
        if steps >= self.line['max_actions']:
            return StopReason.BUDGET.value, ''
        if entry.plans and not entry.plans[-1] and not steps:
            return StopReason.EMPTY_PLAN.value, ''
        return NOT_RECORDED, _NO_REASON['plan']
