"""Observation model: P(answer | truth), and P(outcome | action).

An answer's likelihood depends on the truth of its atom alone:

* an answer is unreadable with P(unreadable | truth), else "unknown" with P(unknown | truth), else
  "yes" with P(yes | truth);
* errors persist, as those of real models do. About a *new* image, while the truth is the same, a
  wrong answer is wrong again with probability r, never below the error rate e, and a right one
  turns wrong with probability e (1 - r) / (1 - e), so that the long-run error rate stays e;
* about the *same* image an answer says nothing new: callers must not count it again.

Rates come from labelled answers, from answers alone (``learning.calibration``), or are the
defaults. None is 0 or 1, so that no evidence is ever beyond doubt.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, TypeAdapter

from sightplan.model import Answer, InputError, Verdict, user_path
from sightplan.model.logged import without_seed
from sightplan.model.odds import log_odds
from sightplan.model.reading import Record, read_file
from sightplan.model.whole_files import replacing

if TYPE_CHECKING:
    from sightplan.domains import Domain

LOW, HIGH = 0.001, 0.999
"""Bounds of all rates."""

Learned = Literal['default', 'labels', 'em']
"""Origin of rates: defaults, answers with their truth, or answers alone."""

_RATES = ('yes_true', 'yes_false', 'unread_true', 'unread_false', 'unknown_true', 'unknown_false',
          'repeat')
_Rate = Annotated[float, Field(gt=0.0, lt=1.0)]
_Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
# Smallest and largest number of answers that rates count as.
_LEAST_ANSWERS, _MOST_ANSWERS = 4.0, 100.0
_MAX_LOGIT = math.log(HIGH / LOW)
_CERTAIN = -math.log(1e-9)
"""Largest logit of an answer [nats]; see ``logit``."""


@dataclass(frozen=True, slots=True)
class Platt:
    """Weight of an answer's probabilities (Platt 1999, as a likelihood ratio).

    The log likelihood ratio of true to false is ``slope * x + intercept`` with x the log odds of
    ``Answer.yes_probability``.
    """

    __pydantic_config__: ClassVar = Record.model_config

    slope: _Finite
    intercept: _Finite

    def log_ratio(self, p: float, bound: str = '') -> float:
        """Log P(answer | true) / P(answer | false) [nats], limited as all rates are.

        Args:
            p: ``Answer.yes_probability``.
            bound: ``Answer.bound``. Where p is only bounded, the ratio is the one nearest to 0,
                which says least, of all that the bound allows.
        """
        ratio = self._limited(logit(p))
        if not bound:
            return ratio
        other = self._limited(_CERTAIN if bound == '≥' else -_CERTAIN)
        return 0.0 if ratio * other <= 0.0 else min(ratio, other, key=abs)

    def _limited(self, x: float) -> float:
        return min(max(self.slope * x + self.intercept, -_MAX_LOGIT), _MAX_LOGIT)


@dataclass(frozen=True, slots=True)
class AnswerRates:
    """Rates of a model's answers to questions about one predicate.

    Attributes:
        yes_true: P(yes | yes or no, atom true).
        yes_false: P(yes | yes or no, atom false).
        unread_true: P(unreadable | atom true).
        unread_false: P(unreadable | atom false).
        unknown_true: P(unknown | readable, atom true).
        unknown_false: P(unknown | readable, atom false).
        repeat: P(wrong | wrong before, new image, same truth); below the error rate it stands
            for the error rate.
        platt: weight of the answer's probabilities; None: the verdict is all that counts.
        n_true: answers about true atoms behind the rates (expected numbers after EM).
        n_false: likewise about false atoms.
        learned: see ``Learned``.
    """

    __pydantic_config__: ClassVar = Record.model_config

    yes_true: _Rate = 0.9
    yes_false: _Rate = 0.1
    unread_true: _Rate = 0.01
    unread_false: _Rate = 0.01
    unknown_true: _Rate = 0.01
    unknown_false: _Rate = 0.01
    repeat: _Rate = 0.5
    platt: Platt | None = None
    n_true: _Count = 0.0
    n_false: _Count = 0.0
    learned: Learned = 'default'

    def __post_init__(self) -> None:
        for name in _RATES:
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f'{name} = {getattr(self, name)!r} is not inside (0, 1)')

    @property
    def strength_true(self) -> float:
        """Number of answers about true atoms that the rates count as."""
        return min(max(self.n_true, _LEAST_ANSWERS), _MOST_ANSWERS)

    @property
    def strength_false(self) -> float:
        """Number of answers about false atoms that the rates count as."""
        return min(max(self.n_false, _LEAST_ANSWERS), _MOST_ANSWERS)

    def likelihoods(self, verdict: Verdict, last: Verdict | None = None) -> tuple[float, float]:
        """P(verdict | atom false), P(verdict | atom true).

        Args:
            verdict: of the answer.
            last: verdict of the last answer about the atom on another image, if its truth has
                not changed since; None, UNPARSED or UNKNOWN: the answer is a first one.
        """
        if verdict is Verdict.UNPARSED:
            return self.unread_false, self.unread_true
        unknown = (self.unknown_false, self.unknown_true)
        yes = self.yes(last)
        false, true = {Verdict.UNKNOWN: unknown,
                       Verdict.YES: (yes[0] * (1.0 - unknown[0]), yes[1] * (1.0 - unknown[1])),
                       Verdict.NO: ((1.0 - yes[0]) * (1.0 - unknown[0]),
                                    (1.0 - yes[1]) * (1.0 - unknown[1]))}[verdict]
        return false * (1.0 - self.unread_false), true * (1.0 - self.unread_true)

    def yes(self, last: Verdict | None = None) -> tuple[float, float]:
        """P(yes | yes or no, atom false), P(yes | yes or no, atom true); ``last``: see above."""
        if last is None or last.says is None:
            return self.yes_false, self.yes_true
        return (self._wrong(self.yes_false, last is Verdict.YES),
                1.0 - self._wrong(1.0 - self.yes_true, last is Verdict.NO))

    def _wrong(self, error: float, before: bool) -> float:
        again = max(self.repeat, error)
        return again if before else error * (1.0 - again) / (1.0 - error)


@dataclass(frozen=True, slots=True)
class ActionReliability:
    """Outcomes of executing an applicable action; the three fractions sum to 1.

    Attributes:
        success: its effects happen, each as reliably as ``effect`` says.
        no_op: nothing happens.
        slip: it does what the same schema with one other argument would do.
        effects: P(effect holds | success), where it is not 1, by predicate and sign: ``on +``.
        n: executions behind the fractions.
    """

    __pydantic_config__: ClassVar = Record.model_config

    success: _Fraction = 0.95
    no_op: _Fraction = 0.025
    slip: _Fraction = 0.025
    effects: Mapping[Annotated[str, Field(pattern=r'^.+ [+-]$')], _Rate] = field(
        default_factory=dict)
    n: _Count = 0.0

    def __post_init__(self) -> None:
        total = self.success + self.no_op + self.slip
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f'success + no_op + slip is {total:g}, not 1')

    def effect(self, predicate: str, positive: bool) -> float:
        """P(an effect on the predicate holds | the action succeeded)."""
        return self.effects.get(f'{predicate} {"+" if positive else "-"}', 1.0)


@dataclass(frozen=True, slots=True)
class ObservationModel:
    """Likelihoods of answers and reliabilities of actions.

    Attributes:
        predicates: rates by predicate; all others have those of ``other``.
        other: see there.
        actions: reliability by schema name; all others have that of ``other_action``.
        other_action: see there.
        rejection: P(an action is rejected | its preconditions hold).
        execution_if_inapplicable: P(an action is executed | its preconditions do not hold).
        model: name of the model that gave the answers; '' with the defaults, which fit any.
        questions_sha256: hash of the wording of the questions, likewise.
        prompt: name and hash of the prompt around the questions; '' if the answers did not
            depend on it; None if they do not say.
        domain: name of the domain, likewise.
        learned: see ``Learned``.
        answers: number of answers that were learned from.
        problems: keys (see ``problem_key``) of the problems they were about: results on these
            are not results on unseen problems.
        format: of the file.
        source: file that it was read from, for messages; '' for none. Not part of the content.
    """

    __pydantic_config__: ClassVar = Record.model_config

    predicates: Mapping[str, AnswerRates] = field(default_factory=dict)
    other: AnswerRates = AnswerRates()
    actions: Mapping[str, ActionReliability] = field(default_factory=dict)
    other_action: ActionReliability = ActionReliability()
    rejection: _Rate = 0.03
    execution_if_inapplicable: _Rate = 0.001
    model: str = ''
    questions_sha256: str = ''
    prompt: str | None = ''
    domain: str = ''
    learned: Learned = 'default'
    answers: NonNegativeInt = 0
    problems: tuple[str, ...] = ()
    format: Literal[1] = 1
    source: str = field(default='', compare=False)

    @classmethod
    def default(cls) -> ObservationModel:
        """Generic rates for any model, prompt and domain."""
        return cls()

    def rates(self, predicate: str) -> AnswerRates:
        """The rates of a predicate."""
        return self.predicates.get(predicate, self.other)

    def action(self, name: str) -> ActionReliability:
        """The reliability of an action schema."""
        return self.actions.get(name, self.other_action)

    def log_likelihoods(self, predicate: str, answer: Answer, last: Verdict | None = None,
                        ) -> tuple[float, float]:
        """Weight of an answer about an atom.

        Its verdict has a weight in any case; its probabilities take the place of that weight where
        a calibration has found that they help (``AnswerRates.platt``).

        Args:
            predicate: of the atom.
            answer: the answer.
            last: verdict of the last answer about the atom, on another image, its value unchanged
                since; None, UNPARSED or UNKNOWN: the answer is a first one. The weight of a
                repeated verdict is that of its probabilities, in the fraction that repeating
                leaves of a verdict's weight; an answer that differs from the last one counts by
                its verdict.

        Returns:
            log P(answer | atom false, last), log P(answer | atom true, last) [nats].
        """
        rates, verdict, p = self.rates(predicate), answer.verdict, answer.yes_probability
        low, high = map(math.log, rates.likelihoods(verdict, last))
        repeated = last is not None and last.says is not None
        if rates.platt is None or p is None or verdict.says is None or (
                repeated and verdict is not last):
            return low, high
        ratio = rates.platt.log_ratio(p, answer.bound)
        if repeated:
            first = rates.likelihoods(verdict)
            weight = math.log(first[1] / first[0])
            ratio *= min(max((high - low) / weight, 0.0), 1.0) if weight else 0.0
        return _with_ratio((low, high), ratio)

    def check(self, model: str, domain: Domain, prompt: str = '') -> None:
        """Check that the rates are about this model, these questions, prompt and domain.

        Seeds in the names of simulated models do not matter. The defaults fit anything. A domain
        without questions (of a domain file alone) is compared by its name. Prompts are compared
        unless one side says that the model's answers do not depend on it.

        Args:
            model: exact name of the model that answers.
            domain: of the questions.
            prompt: ``name@sha256`` of the prompt around them; '' if answers do not depend on it.

        Raises:
            InputError: they are about others; names the file, both and the remedy.
        """
        self.check_domain(domain)
        if not self.model:
            return
        self._check('wording of the questions', self.questions_sha256,
                    domain.question_hash or self.questions_sha256)
        if prompt and self.prompt is None:
            raise InputError(f'{self._origin}the calibration does not say for which prompt it was '
                             f'learned, this is {prompt!r} (make it again with "sightplan '
                             f'calibrate", or leave it out: then the defaults are used)')
        self._check('prompt', self.prompt or prompt, prompt or self.prompt or '')
        self._check('model', without_seed(self.model), without_seed(model))

    def check_domain(self, domain: Domain) -> None:
        """Check that the rates belong to this domain, whichever model answers.

        Raises:
            InputError: they are about another one; names the file, both and the remedy.
        """
        if self.model:
            self._check('domain', self.domain, domain.name)

    @property
    def _origin(self) -> str:
        return f'{self.source}: ' if self.source else ''

    def _check(self, what: str, ours: str, theirs: str) -> None:
        if ours != theirs:
            raise InputError(
                f'{self._origin}the calibration belongs to another {what}: it was learned for '
                f'{ours!r}, this is {theirs!r} (calibrate again from answers of this one, or '
                f'leave the calibration out: then the defaults are used)')

    def to_json(self) -> dict[str, Any]:
        """The model as JSON data; see ``read_observation_model``."""
        return _FILE.dump_python(self, mode='json', exclude={'source'})  # type: ignore[no-any-return]

    def write(self, path: Path | str) -> None:
        """Write a calibration file; a crash leaves the old one, or none, never a part.

        Raises:
            InputError: the file cannot be written.
        """
        path = user_path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self.to_json(), indent=2, allow_nan=False) + '\n'
            if path.exists() and not path.is_file():  # /dev/stdout; a folder cannot be opened
                path.write_text(text, 'utf-8')
            else:
                with replacing(path.resolve(), synced=True) as whole:
                    whole.write_text(text, 'utf-8')
        except OSError as error:
            raise InputError(f'{path}: cannot be written ({error.strerror}); choose another '
                             f'file') from error


def read_observation_model(path: Path | str) -> ObservationModel:
    """Read a calibration file, as ``ObservationModel.write`` (``sightplan calibrate``) made it.

    What it leaves out is as in the defaults.

    Raises:
        InputError: the file is missing or malformed; names file, field and remedy.
    """
    path = user_path(path)
    try:
        found = read_file(ObservationModel, path)
        if found.learned != 'default' and not (
                found.model and found.questions_sha256 and found.domain):
            raise InputError(f'{path}: model, questions_sha256 and domain must say what the rates '
                             f'are about')
        return dataclasses.replace(found, source=str(path))
    except InputError as error:
        raise InputError(f'{error}; make the file again with "sightplan calibrate --out '
                         f'{path}"') from error


def logit(p: float) -> float:
    """Log odds [nats] of ``Answer.yes_probability``, bounded."""
    return log_odds(p, 1e-9)


def clip(rate: float) -> float:
    """A rate within the bounds."""
    return min(max(rate, LOW), HIGH)


def _with_ratio(pair: tuple[float, float], ratio: float) -> tuple[float, float]:
    """Another log ratio (true to false) with the same mean likelihood, so that it stays one."""
    mean = math.log((math.exp(pair[0]) + math.exp(pair[1])) / 2.0)
    low = mean - math.log((1.0 + math.exp(ratio)) / 2.0)
    return low, low + ratio


_FILE = TypeAdapter(ObservationModel)
