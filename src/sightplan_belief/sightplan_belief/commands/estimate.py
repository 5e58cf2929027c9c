"""``sightplan estimate``: from answers to one consistent state, by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sightplan.commands.flags import option
from sightplan.commands.frame import (
    DONE,
    FAILED,
    Result,
    add_command,
    emit,
    json_wanted,
    note,
    print_table,
)
from sightplan.commands.shared_flags import domain_flag
from sightplan.console.progress import EpisodeBar
from sightplan.model import Atom, DomainError, InputError, Problem, check_settings, user_path
from sightplan.model.json_text import load_json

if TYPE_CHECKING:
    from sightplan.domains import Domain
    from sightplan.domains.schema import Schema
    from sightplan.model.logged import LoggedAnswer
    from sightplan_belief.constraints import Constraints
    from sightplan_belief.estimator import Estimate, Estimator, EstimatorSettings
    from sightplan_belief.observation_model import ObservationModel

_EXAMPLES = """\
examples:
  sightplan estimate --problem p.pddl --answers a.jsonl --json
  sightplan estimate --problem p.pddl --domain-file d.pddl --answers a.jsonl --calibration cal.json
  sightplan estimate --domain blocksworld --cases cases.jsonl --json > states.jsonl

answers: JSON lines {"atom": "on r,g", "answer": "yes", "p_yes": 0.9, "p_no": 0.1, "image": "7"};
answer may be "yes", "no", "unknown" or null (unreadable); all but the first two fields are
optional. Answers about the same image (or without one) are one measurement, however often they are
repeated.
cases: JSON lines {"id": 1, "problem": "p.pddl", "answers": {"on r,g": "yes", "clear r": null}};
problem is a path, from the folder of the cases or the working directory, or PDDL text; it may be
left out with --problem.
output: {"state": [true atoms], "marginals": {atom: P}, "log_evidence": nats, "complete": whether
all likely states were listed, so that the probabilities are exact, "seconds": s}, with the id for
cases, a line each. A case, or a line of answers, that cannot be used is named on standard error
and left out.

Of a problem only the objects count: its initial state is no evidence. A domain file that speaks of
the same things as an installed domain gets that domain's constraints; another one those of a
constraints.yaml beside it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateArguments:
    """Arguments of ``sightplan estimate``."""

    problem: str | None = option(
        None, 'problem file: says which objects there are', metavar='FILE')
    domain: str | None = domain_flag(
        'name of an installed domain, or the path of its folder (default: the one that the '
        'problem names)', optional=True)
    domain_file: str | None = option(None, 'domain file of the problem', metavar='FILE')
    answers: str | None = option(
        None, 'answers about one scene, JSON lines', metavar='FILE', exclusive='source')
    cases: str | None = option(None, 'many scenes, JSON lines', metavar='FILE', exclusive='source')
    calibration: str | None = option(
        None, 'file of "sightplan calibrate"; without one, those of the domain, else generic ones',
        metavar='CAL')
    k: int | None = option(None, 'number of joint states to keep')
    seed: int | None = option(None, 'seed of the tie-breaking')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan estimate``."""
    add_command(
        subparsers, 'estimate', estimate_states, 'the most probable state, given answers',
        'The most probable joint state under the constraints of a domain, and the probability of '
        'each atom, given uncertain answers.', settings=EstimateArguments, examples=_EXAMPLES,
        exits='0 done; 1 there are answers or cases that cannot be used; 2 bad usage or bad '
              'files')


def estimate_states(arguments: EstimateArguments) -> Result:
    """Estimate and print, with JSON a line for each case; 1 if a case cannot be used."""
    if arguments.cases is not None:
        return _cases(arguments, arguments.cases)
    if arguments.answers is not None:
        return _one(arguments, arguments.answers)
    raise InputError('say what was answered: give --answers or --cases')


def _one(arguments: EstimateArguments, file: str) -> Result:
    from sightplan.records.answers_reading import read_scene
    if arguments.problem is None:
        raise InputError('--answers needs --problem: it says which objects there are')
    text, source = _problem_text(arguments.problem)
    setting = Setting.read(arguments, [text])
    skipped = []

    def skip(error: InputError) -> None:
        skipped.append(error)
        note(f'sightplan estimate: {error}')

    answers = read_scene(file, skip)
    pictures = {(answer.episode, answer.image) for _, answer in answers}
    if len(pictures) > 1:
        note(f'sightplan estimate: the answers are about {len(pictures)} pictures, and are taken '
             'for answers about one unchanged scene; if anything moved between them, give those '
             'about one picture')
    estimate = setting.estimate(text, source, answers, skip)
    if not json_wanted():
        _show(estimate)
    if estimate.caveat:
        note(f'sightplan estimate: {estimate.caveat}')
    if skipped:
        note(f'sightplan estimate: {len(skipped)} answers cannot be used')
    return as_json(estimate), FAILED if skipped else DONE


@dataclass(frozen=True)
class _Case:
    """A scene: its id, its problem's text and source, and its answers."""

    id: Any
    problem: str
    source: str
    answers: Sequence[tuple[str, LoggedAnswer]]


def _cases(arguments: EstimateArguments, file: str) -> Result:
    path = user_path(file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror}); give a file of JSON '
                         f'lines') from error
    lines = [(f'{path}:{number}', line)
             for number, line in enumerate(data.split(b'\n'), 1) if line.strip()]
    cases = [(where, _read_case(line, where, arguments.problem, path.parent))
             for where, line in lines]
    texts = [case.problem for _, case in cases if isinstance(case, _Case)]
    setting = Setting.read(arguments, texts) if texts else None
    failed = 0
    with EpisodeBar(transient=True) as bar:
        bar.begin('cases', len(cases), 0)
        for number, (where, case) in enumerate(cases, 1):
            try:
                if isinstance(case, InputError):
                    raise case
                assert setting is not None  # there is a case
                estimate = setting.estimate(case.problem, case.source, case.answers)
            except InputError as error:
                failed += 1
                place = '' if str(error).startswith(where) else f'{where}: '
                note(f'sightplan estimate: {place}{error}')
                continue
            if estimate.caveat:
                note(f'sightplan estimate: {where}: {estimate.caveat}')
            if json_wanted():
                emit({'id': case.id, **as_json(estimate)})
            else:
                print(f'{case.id}: {"; ".join(map(str, sorted(estimate.state)))} '
                      f'(log evidence {estimate.log_evidence:.2f}, {estimate.seconds:.3f} s)',
                      flush=True)
            bar.update(number)
    if failed:
        note(f'sightplan estimate: {failed} of {len(cases)} cases cannot be used')
    return None, FAILED if failed else DONE


def _read_case(line: bytes, where: str, problem: str | None, folder: Path) -> _Case | InputError:
    """Read a case; returns the reason if it cannot be used.

    Args:
        line: of the file of cases.
        where: file and line, for messages.
        problem: path or PDDL text for cases that name no problem.
        folder: where a problem's file is looked for first.
    """
    try:
        case = load_json(line)
    except (ValueError, RecursionError) as error:
        return InputError(f'{where}: is not JSON ({error}); write one object a line')
    try:
        if not isinstance(case, dict):
            raise InputError(f'{where}: is not a JSON object; write {{"id": 1, "answers": ...}}')
        if 'id' not in case:
            raise InputError(f'{where}: field "id" is missing; give each case one')
        own = 'problem' in case
        given = case['problem'] if own else problem
        if not isinstance(given, str) or not given.strip():
            raise InputError(f'{where}: problem = {given!r} must be a path or PDDL text (or give '
                             f'one --problem for all)')
        text, source = ((given, where) if given.lstrip().startswith('(')
                        else _problem_text(given, folder if own else None))
        return _Case(case['id'], text, source, _answers(case.get('answers'), where))
    except InputError as error:
        return error


def _problem_text(path: str, folder: Path | None = None) -> tuple[str, str]:
    """Text and path of a problem file; a relative path is searched in ``folder``, then here."""
    from sightplan.domains.problem_files import read_text
    from sightplan.model import ProblemError
    file = user_path(path)
    if folder is not None and not file.is_absolute() and (folder / file).exists():
        file = folder / file
    return read_text(file, ProblemError), str(file)


def _answers(raw: object, where: str) -> list[tuple[str, LoggedAnswer]]:
    """The answers of a case: a mapping from atom to answer, or a list of answer objects."""
    from sightplan.records.answers_reading import parse_answer
    if isinstance(raw, Mapping):
        raw = [{'atom': atom, 'answer': answer} for atom, answer in raw.items()]
    if not isinstance(raw, Sequence) or not all(isinstance(entry, Mapping) for entry in raw):
        raise InputError(f'{where}: answers must be a mapping such as {{"on r,g": "yes"}}')
    return [(where, parse_answer(entry, where)) for entry in raw]


@dataclass(frozen=True)
class _ForeignDomain:
    """Domain made of a domain file without a folder, with what an estimator needs."""

    name: str
    pddl: str
    schema: Schema
    question_hash: str = ''
    folder: None = None
    errors_together: float = 0.0

    @property
    def reference(self) -> str:
        return self.name

    def parse_problem(self, text: str, name: str, source: str = '') -> Problem:
        from sightplan.domains.problem_files import Closure, parse
        return parse(self.schema, Closure(), text, name=name, domain=self.name,
                     domain_pddl=self.pddl, source=source or name)

    def worth_asking(self, problem: Problem) -> tuple[Atom, ...]:
        from sightplan.domains import InstantiatedModel
        return InstantiatedModel(problem).atoms


@dataclass(frozen=True, eq=False)
class Setting:
    """Inputs that all estimates of one command share.

    Attributes:
        domain: of the problems.
        constraints: None: those of the domain's folder.
        model: what answers are worth.
        settings: of the estimators.
    """

    domain: Domain
    constraints: Constraints | None
    model: ObservationModel | None
    settings: EstimatorSettings

    @classmethod
    def read(cls, arguments: EstimateArguments, problems: Sequence[str]) -> Setting:
        """Read the files that the arguments name.

        Args:
            arguments: of the command.
            problems: their texts; the first that names an installed domain decides where the
                arguments do not.

        Raises:
            InputError: a file or an argument cannot be used.
        """
        from sightplan.domains import domain_names
        from sightplan_belief.estimator import MOST_LISTED, EstimatorSettings
        from sightplan_belief.observation_model import read_observation_model
        name = arguments.domain
        if name is None and arguments.domain_file is None:
            name = next(filter(None, map(_domain_named, problems)), None)
            if name is None:
                raise InputError(f'{arguments.cases or arguments.problem}: which domain? Give '
                                 '--domain-file FILE, or --domain with one of '
                                 f'{", ".join(domain_names())}')
        domain, constraints = read_domain(name, arguments.domain_file)
        model = None
        if arguments.calibration is not None:
            model = read_observation_model(arguments.calibration)
            model.check(model.model, domain, model.prompt or '')
        settings = EstimatorSettings(limit=MOST_LISTED, **{
            name: getattr(arguments, name) for name in ('k', 'seed')
            if getattr(arguments, name) is not None})
        check_settings(settings, 'estimator')
        return cls(domain, constraints, model, settings)

    @functools.lru_cache(maxsize=256)  # noqa: B019  (one object a command)
    def _parsed(self, text: str, source: str) -> Problem:
        return self.domain.parse_problem(text, Path(source).stem, source).for_agent()

    def estimate(self, text: str, source: str, answers: Sequence[tuple[str, LoggedAnswer]],
                 skip: Callable[[InputError], None] | None = None) -> Estimate:
        """Estimate from answers, each with the place it was read from.

        Args:
            text: of the problem.
            source: where it comes from.
            answers: about one scene.
            skip: called for each answer about no atom of the problem; None: that is an error.

        Raises:
            InputError: the problem cannot be used, an answer is about no atom of it, or comes
                from a model for which the calibration was not made; names the place.
        """
        from sightplan_belief.estimator import Evidence
        problem = self._parsed(text, source)
        estimator = self._estimator(tuple(sorted(problem.objects.items())))
        evidence = []
        for where, answer in answers:
            if answer.atom not in estimator.number:
                known = self.domain.schema.predicates.get(answer.atom.predicate)
                form = (f'{known.name} {",".join(known.types)}' if known is not None else
                        f'one of {", ".join(self.domain.schema.predicates)}')
                wrong = InputError(f'{where}: {answer.atom} is not an atom of this problem ('
                                   f'{form}; objects: {", ".join(problem.objects)})')
                if skip is None:
                    raise wrong
                skip(wrong)
                continue
            if self.model is not None:
                try:
                    self._check(self.model, answer)
                except InputError as error:
                    raise InputError(f'{where}: {error}') from error
            evidence.append(Evidence(answer.atom, answer.answer, answer.image))
        return estimator.estimate(evidence)

    def _check(self, calibration: ObservationModel, answer: LoggedAnswer) -> None:
        """Check that the calibration fits an answer, as far as the answer states its origin."""
        calibration.check(answer.model or calibration.model, self.domain, answer.prompt or '')
        asked, learned = answer.questions_sha256, calibration.questions_sha256
        if asked and learned and asked != learned:
            raise InputError(
                f'the calibration belongs to another wording of the questions: it was learned '
                f'for {learned!r}, this is {asked!r} (calibrate again from answers of this one, '
                f'or leave the calibration out: then the defaults are used)')

    @functools.lru_cache(maxsize=64)  # noqa: B019
    def _estimator(self, objects: tuple[tuple[str, str], ...]) -> Estimator:
        """An estimator depends on the objects alone."""
        from sightplan_belief.estimator import Estimator
        problem = Problem('objects', self.domain.reference, dict(objects), frozenset(), (),
                          self.domain.pddl)
        return Estimator(self.domain, problem, self.constraints, self.model, self.settings)


def _domain_named(text: str) -> str | None:
    """The installed domain that a problem's text names; None without one."""
    from sightplan.domains import domain_names
    from sightplan.domains.problem_files import named_domain
    named = named_domain(text)
    return named if named in domain_names() else None


def read_domain(name: str | None, domain_file: str | None) -> tuple[Domain, Constraints | None]:
    """Read the domain, and its constraints unless an installed domain has them.

    Args:
        name: of an installed domain; None: that of the same vocabulary as the file's.
        domain_file: path; None: the installed one.

    Raises:
        InputError: neither is given, or the files cannot be used.
    """
    from sightplan.domains import domain_names, load_domain
    from sightplan.domains.problem_files import check_same_vocabulary, read_text
    from sightplan.domains.schema import read_schema
    from sightplan_belief.constraints import FILE, Constraints, parse_constraints
    path = user_path(domain_file) if domain_file is not None else None
    if name is not None:
        return load_domain(name, path), None
    assert path is not None  # one of both is given
    text = read_text(path, DomainError)
    schema = read_schema(text, str(path))
    for known in domain_names():
        try:
            check_same_vocabulary(load_domain(known).schema, schema, str(path))
        except DomainError:
            continue
        return load_domain(known, path), None
    foreign = cast('Domain', _ForeignDomain(schema.name, text, schema))
    rules = path.with_name(FILE)
    if rules.exists():
        return foreign, parse_constraints(read_text(rules, DomainError), schema, str(rules))
    note(f'sightplan estimate: warning: {path} is none of the installed domains '
         f'({", ".join(domain_names())}) and there is no {rules}: every state counts as possible')
    return foreign, Constraints(source='none')


def as_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as plain JSON data, atoms sorted by name."""
    return {'state': [str(atom) for atom in sorted(estimate.state)],
            'marginals': {str(atom): p for atom, p in sorted(estimate.marginals.items())},
            'log_evidence': estimate.log_evidence, 'complete': estimate.complete,
            'seconds': estimate.seconds}


def _show(estimate: Estimate) -> None:
    print_table(('atom', 'state', 'P(true)'), [
        (atom, 'true' if atom in estimate.state else '', f'{p:.4f}')
        for atom, p in sorted(estimate.marginals.items())
        if atom in estimate.state or p > 0.01], left=2)
    print(f'all other atoms are false with P > 0.99; log evidence {estimate.log_evidence:.2f}, '
          f'{estimate.seconds:.3f} s')
