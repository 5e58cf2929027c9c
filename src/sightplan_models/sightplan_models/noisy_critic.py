"""``noisy_critic``: the better one of a pair, seen with published errors; no model.

It stands in for a model that compares two paths, in experiments that need only its errors. By
signal detection, the better one shown first gives evidence of mean d'/2, shown second of -d'/2,
with noise of variance 1; "first" is said above a criterion c. Both are fitted to what PathEval
publishes of nine models: how often "first" was said, and how often that was right
(``data/critic_counts.json``). Under other names than "Path 1" and "Path 2" c is that of the
random names (d' under these is not published and taken to be the same).

* ``answers``: ``hard`` names an option; ``graded`` also gives probabilities, with the log-odds
  d' (x - c) of evidence x that are right but for the bias.
* ``noise``: between the two orders of a pair it is ``independent``, or ``shared``: then the pair
  itself misleads, and the evidence about it is the same in both.

Every draw is a hash of seed and subjects, so that the order of requests does not matter, and the
same request always gets the same reply. Where neither is better the evidence has mean 0.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from sightplan.model import InputError, param
from sightplan.model.odds import probability
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.model.reply_text import why_cannot_tell
from sightplan.queries.choose import ChoiceReply, Choose, PreferenceSource
from sightplan_models._hashed_draws import normal, uniform

_COUNTS = Path(__file__).parent / 'data' / 'critic_counts.json'
_NORMAL = NormalDist()
_PUBLISHED_NAMES = ('path 1', 'path 2')
CANNOT_TELL = 'I cannot tell which one is better.'


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``noisy_critic``."""

    table: str = param('gpt-4o', 'Model whose published counts are used (PathEval, table 2): '
                       'gpt-4o, gpt-4o-mini, qwen2-vl-7b, ...')
    sensitivity: float = param(-1.0, "d' of the evidence; -1: that of the table",
                               low=-1.0, high=10.0)
    criterion: float = param(100.0, 'Evidence above which the first one is named; 100: that of '
                             'the table', low=-10.0, high=100.0)
    answers: str = param('graded', 'Whether it gives probabilities (graded) or names an option '
                         'only (hard)', choices=('graded', 'hard'))
    noise: str = param('independent', 'Noise of the two orders of a pair: independent or shared',
                       choices=('independent', 'shared'))
    cannot_tell: float = param(0.0, 'Probability that it says that it cannot tell; no paper that '
                               'we know publishes it', low=0.0, high=1.0)
    seed: int = param(0, 'Seed of the errors', low=0)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model by signal detection.

    Attributes:
        sensitivity: d'.
        criterion: above which "first" is said.
        neutral: the same under names that mean nothing.
    """

    sensitivity: float
    criterion: float
    neutral: float


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the published counts; see ``api.backend_content``."""
    return hashlib.sha256(repr(_fitted(settings)).encode()).hexdigest()[:12]


@functools.cache
def published() -> dict[str, Fitted]:
    """Sensitivity and criterion of each model with published counts."""
    data = json.loads(_COUNTS.read_text('utf-8'))
    return {name: fit(row, data['items'], data['first_is_right'])
            for name, row in data['models'].items()}


def fit(row: dict[str, Any], items: int, first_is_right: int) -> Fitted:
    """Sensitivity and criterion of published counts.

    With F of n items whose first one is right and S whose second is, h hits and f false alarms:
    h + f is how often "first" was said, h + S - f how often the reply was right.

    Args:
        row: ``first`` and ``first_neutral`` (counts), ``accuracy`` (a fraction).
        items: n.
        first_is_right: F.
    """
    second_is_right = items - first_is_right
    right = row['accuracy'] * items
    hits = (right - second_is_right + row['first']) / 2
    alarms = row['first'] - hits
    hit, alarm = _z(hits / first_is_right), _z(alarms / second_is_right)
    sensitivity = hit - alarm
    return Fitted(sensitivity, -(hit + alarm) / 2,
                  _criterion(sensitivity, row['first_neutral'] / items))


def _criterion(sensitivity: float, first: float) -> float:
    """The criterion at which a fraction ``first`` of replies is "first", by bisection."""
    low, high = -10.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        said = (_NORMAL.cdf(sensitivity / 2 - middle) + _NORMAL.cdf(-sensitivity / 2 - middle)) / 2
        low, high = (middle, high) if said > first else (low, middle)
    return (low + high) / 2


def _z(rate: float) -> float:
    return _NORMAL.inv_cdf(min(max(rate, 1e-6), 1 - 1e-6))


class Backend(ModelByKind):
    """Compares from ground truth with a model's errors.

    Args:
        settings: see Settings.
        truth: which of two is the better one.

    Raises:
        InputError: there is no such table.
    """

    traits = Traits('better', pixels=False, prompt=False)

    def __init__(self, settings: Settings, truth: PreferenceSource) -> None:
        self._settings = settings
        self._truth = truth
        self._fitted = _fitted(settings)

    @property
    def name(self) -> str:
        """Name with settings, such as ``noisy_critic(gpt-4o, d' 1.13, c .44, graded, ...)``."""
        s, fitted = self._settings, self._fitted
        silent = f'cannot tell {s.cannot_tell:g}, ' if s.cannot_tell else ''
        return (f"noisy_critic({s.table}, d' {fitted.sensitivity:.2f}, c {fitted.criterion:.2f}, "
                f'{s.answers}, {s.noise} noise, {silent}seed {s.seed})')

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Choose one of two.

        Raises:
            InputError: other than two options, or nothing is known of one of them.
        """
        if len(query.options) != 2 or not query.subjects:
            raise InputError("backend 'noisy_critic' compares two subjects that its truth knows; "
                             f'asked were {len(query.options)} options with '
                             f'{len(query.subjects)} subjects')
        first, second = query.subjects
        sign = self._truth.better(first, second)
        if uniform(*self._key(query), 'cannot tell') < self._settings.cannot_tell:
            return ChoiceReply(text=CANNOT_TELL, cannot_tell=why_cannot_tell(CANNOT_TELL))
        evidence = sign * self._fitted.sensitivity / 2 + self._noise(query)
        named = tuple(option.strip().lower() for option in query.options) == _PUBLISHED_NAMES
        above = evidence - (self._fitted.criterion if named else self._fitted.neutral)
        chosen = 0 if above > 0 else 1
        text = query.options[chosen]
        if self._settings.answers == 'hard':
            return ChoiceReply(None, chosen, text)
        # A model that is worse than chance takes its evidence for good, as all do.
        p = probability(abs(self._fitted.sensitivity) * above)
        return ChoiceReply((p, 1 - p), chosen, text)

    def _noise(self, query: Choose) -> float:
        """Standard normal noise of the evidence for the one that is shown first."""
        z = normal(*self._key(query))
        return -z if _is_flipped(query) else z

    def _key(self, query: Choose) -> list[str]:
        """Key of the draws about a pair, in its order unless both orders share their noise."""
        key = [str(self._settings.seed), *sorted(query.subjects), repr(query.properties)]
        if self._settings.noise == 'independent':
            key.append('flipped' if _is_flipped(query) else 'as it is')
        return key


def _is_flipped(query: Choose) -> bool:
    first, second = query.subjects
    return first > second


def _fitted(settings: Settings) -> Fitted:
    """The model that the settings describe.

    Raises:
        InputError: there is no such table; names those that are there.
    """
    models = published()
    if settings.table not in models:
        raise InputError(f'backend noisy_critic: table = {settings.table!r} must be one of '
                         f'{", ".join(models)}')
    found = models[settings.table]
    sensitivity = found.sensitivity if settings.sensitivity < 0 else settings.sensitivity
    if settings.criterion < 100:
        return Fitted(sensitivity, settings.criterion, settings.criterion)
    return Fitted(sensitivity, found.criterion, found.neutral)
