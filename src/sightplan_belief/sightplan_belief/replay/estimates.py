"""Estimators of the state over recorded answers, compared with the truth and with each other.

Each goes through the events of an episode as its method would: observations, privileged facts,
answers, actions and what became of them. What it believes after each batch of answers is compared
with what was true when the picture was taken. Nobody is asked anything.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from sightplan.agent import method_names, policy_settings
from sightplan.agent.context import WorldContext
from sightplan.agent.methods.ground import believed_state, take_answer
from sightplan.domains import Domain, InstantiatedModel
from sightplan.metrics.calibration import reliability
from sightplan.metrics.intervals import fraction_of
from sightplan.metrics.paired import paired_bootstrap
from sightplan.model import (
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    FeedbackStatus,
    InputError,
    Observation,
    Observed,
    Problem,
    State,
    settings_fields,
)
from sightplan.model.settings import picked
from sightplan.records.recorded import RecordedEpisode
from sightplan.replay.batches import Source, Truth
from sightplan_belief.estimator import MARGINAL_BOUNDS, evidence_of
from sightplan_belief.methods._believing import (
    condition_on,
    make_filter,
    relevant_atoms,
    use_rates_of_model,
)
from sightplan_belief.methods._estimators import BeliefChoices, Estimators
from sightplan_belief.observation_model import ObservationModel

RAW = 'ground'
"""The estimator with which all others are compared: answers are taken as they are."""

NOTE = ('Compared after each batch of answers, over the atoms that can matter: those of '
        'conditions of actions and of the goal (others that may be asked about are left out). An '
        'exact state has every one of them right. Brier score, log loss [nats] and expected '
        'calibration error (ECE) are those of the probabilities; an estimator that has none for '
        'an atom counts as almost sure. Intervals take the atoms and moments of an episode '
        'for one statistical cluster.')


@dataclass(frozen=True, eq=False)
class _Setting:
    """Parts of an episode's context from which estimators are made."""

    domain: Domain
    problem: Problem
    model: InstantiatedModel


def _setting(episode: RecordedEpisode) -> _Setting:
    return _Setting(episode.domain, episode.spec.problem,
                    episode.domain.model(episode.spec.problem))


class Tracker(Protocol):
    """An estimator in one episode."""

    def observe(self, seen: Observation, moved: bool) -> None:
        """Take in an observation and its facts; ``moved``: an action was carried out before."""

    def answer(self, event: Asked) -> None:
        """Take in a batch of answers."""

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in an action, and the world's feedback."""

    def believed(self) -> tuple[State, Mapping[Atom, float]]:
        """Estimated state, and P(atom is true) of the atoms that have a probability."""


class _Raw:
    """Estimate as in the method ``ground``: the last yes or no counts, actions have their effects.

    An answer that says neither leaves its atom as it was; what was never answered is false.
    """

    def __init__(self, setting: _Setting) -> None:
        self._model = setting.model
        self._belief: dict[Atom, bool] = {}
        self._probabilities: dict[Atom, float] = {}
        self._seen = Observation()

    def observe(self, seen: Observation, moved: bool) -> None:
        self._seen = seen
        self._belief.update(seen.privileged_facts)
        for atom in seen.privileged_facts:
            self._probabilities.pop(atom, None)

    def answer(self, event: Asked) -> None:
        for question, answer in zip(event.questions, event.answers, strict=True):
            if answer.verdict.says is not None:
                take_answer(question.atom, answer, self._belief, self._probabilities)

    def act(self, action: Action, status: FeedbackStatus) -> None:
        if status is FeedbackStatus.EXECUTED:
            effects = self._model.effects(action, believed_state(self._belief))
            self._belief.update(effects)
            for atom in effects:
                self._probabilities.pop(atom, None)

    def believed(self) -> tuple[State, Mapping[Atom, float]]:
        return believed_state(self._belief), self._probabilities


class _Decoded(_Raw):
    """Estimate as in the method ``decode``: the possible state that fits an enumeration best.

    All answers about the picture are evidence; what was not asked about it but believed before
    counts as an answer; privileged facts are certain.
    """

    def __init__(self, setting: _Setting, estimators: Estimators) -> None:
        super().__init__(setting)
        self._setting, self._estimators = setting, estimators
        self._image = ''
        self._about: dict[Atom, Answer] = {}

    def observe(self, seen: Observation, moved: bool) -> None:
        super().observe(seen, moved)
        if not seen.image_id or seen.image_id != self._image:
            self._image, self._about = seen.image_id, {}

    def answer(self, event: Asked) -> None:
        believed = dict(self._belief)
        super().answer(event)
        estimator = self._estimators.answering(
            self._setting.domain, event.model, event.prompt).get(cast(WorldContext, self._setting))
        number = estimator.number
        self._about |= {atom: answer for atom, answer in event.by_atom.items() if atom in number}
        if event.purpose is not AskPurpose.ENUMERATION:
            return
        facts = self._seen.privileged_facts
        earlier = {atom: Answer('Yes' if value else 'No') for atom, value in believed.items()
                   if atom in number and atom not in self._about and atom not in facts}
        estimate = estimator.estimate(evidence_of({**self._about, **earlier}), facts)
        for atom in estimate.marginals:
            self._belief[atom] = atom in estimate.state
        self._probabilities.update(estimate.marginals)


class Filtered:
    """Estimate as in the method ``belief``: a Bayes filter on joint states.

    Attributes:
        belief: the filter.
    """

    def __init__(self, setting: _Setting, estimators: Estimators, settings: Any) -> None:
        self.belief = make_filter(cast(WorldContext, setting), estimators, settings)
        self._setting, self._estimators, self._settings = setting, estimators, settings
        self._atoms = frozenset(self.belief.atoms)
        self._begun = self._knows_model = False

    def observe(self, seen: Observation, moved: bool) -> None:
        """Take in an observation; see ``Tracker``."""
        condition_on(self.belief, self._setting.domain, seen, not self._begun and not moved,
                self._settings)
        self._begun = True

    def answer(self, event: Asked) -> None:
        """Take in a batch of answers; see ``Tracker``."""
        if not self._knows_model:  # as the method does
            use_rates_of_model(self.belief, cast(WorldContext, self._setting), self._estimators,
                       self._settings, event.model, event.prompt)
        self._knows_model = True
        self.belief.answer({atom: answer for atom, answer in event.by_atom.items()
                            if atom in self._atoms})
        self.belief.escape()

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in an action and its status; see ``Tracker``."""
        self.belief.act(action, status)

    def believed(self) -> tuple[State, Mapping[Atom, float]]:
        """Estimated state and probabilities; see ``Tracker``."""
        return self.belief.state, self.belief.marginals()


ESTIMATORS = (RAW, 'decode', 'belief')
"""Methods whose estimates can be replayed."""


class Estimating:
    """An estimator by the name of its method, for any number of episodes.

    Args:
        method: its name.
        options: of the method.
        rates: what answers are worth, instead of what the options say.

    Raises:
        InputError: the method is unknown or estimates nothing, an option is wrong, or its
            calibration cannot be read.
    """

    def __init__(self, method: str, options: Mapping[str, Any] | None = None,
                 rates: ObservationModel | None = None) -> None:
        if method not in ESTIMATORS:
            known = 'has no estimator of the state' if method in method_names() else 'is unknown'
            raise InputError(f'method {method!r} {known}; choose among {", ".join(ESTIMATORS)}')
        self.method = method
        self._settings = policy_settings(method, options)
        choices = picked(BeliefChoices, self._settings)
        self._estimators = None if method == RAW else Estimators(
            choices.calibration, choices.constraints, choices.priors, rates)

    def track(self, episode: RecordedEpisode) -> Tracker:
        """Start an estimate of an episode."""
        setting = _setting(episode)
        if self._estimators is None:
            return _Raw(setting)
        return (_Decoded(setting, self._estimators) if self.method == 'decode'
                else Filtered(setting, self._estimators, self._settings))

    def check(self, episode: RecordedEpisode, event: Asked) -> None:
        """Check that the calibration is about the model that answered.

        Raises:
            InputError: it is about another model, wording, prompt or domain.
        """
        if self._estimators is not None:
            self._estimators.rates.check(event.model, episode.domain, event.prompt)


def options_of(method: str, options: Mapping[str, str], read: Any) -> dict[str, Any]:
    """The options that a method has, as values of their types; see ``commands.frame``."""
    cls = type(policy_settings(method))
    own = {f.name for f in settings_fields(cls)}
    found: dict[str, Any] = read([f'{k}={v}' for k, v in options.items() if k in own], cls,
                                 '--method-option')
    return found


class _Compared(NamedTuple):
    """Estimate and truth of an atom at one moment."""

    predicate: str
    group: str  # episode, in whatever run
    right: bool
    probability: float
    truth: bool


@dataclass
class _Tally:
    """Counts of one estimator's right and wrong estimates."""

    atoms: list[_Compared] = field(default_factory=list)
    exact: list[tuple[str, bool]] = field(default_factory=list)  # episode; moments, all known
    same: int = 0  # atoms as the raw answers have them
    compared: int = 0
    left_out: int = 0


def estimate(sources: Iterable[Source], estimators: Sequence[Estimating],
             truth: Truth | None = None, resamples: int = 2000) -> dict[str, Any]:
    """Compare estimators on the same answers.

    Args:
        sources: the episodes; see ``batches.with_answers`` for other answers.
        estimators: besides RAW, which is always there.
        truth: what is true; None: what the bags say.
        resamples: of the bootstraps over episodes.

    Returns:
        plain JSON data: ``episodes``, ``moments`` (batches of answers), ``estimators``: name to
        ``atoms`` (compared with a known truth), ``left_out`` (number of the atoms that may be
        asked about, but cannot matter; at all moments, as ``atoms``), ``accuracy``,
        ``interval95`` (the atoms of an episode are a cluster), ``exact_states`` (fraction of the
        moments with every atom right; None where the truth of some is not known),
        ``exact_interval95``, ``brier``, ``log_loss``, ``ece``,
        ``ece_interval95``, ``predicates`` (name to atoms and accuracy), ``gain`` (difference of
        the accuracy to that of RAW: see ``paired_bootstrap``), ``agreement`` with RAW (fraction of
        the atoms, whether true or not). Scores are None without any truth.

    Raises:
        InputError: a calibration does not belong to the answers.
    """
    truth = truth or Truth()
    chosen = {e.method: e for e in estimators}
    every = [chosen.pop(RAW) if RAW in chosen else Estimating(RAW), *chosen.values()]
    tallies = {e.method: _Tally() for e in every}
    moments = [_replay(source, every, truth, tallies) for source in sources]
    return {'episodes': sum(map(bool, moments)), 'moments': sum(moments), 'estimators': {
        name: _scores(own, tallies[RAW], resamples) for name, own in tallies.items()}}


def _replay(source: Source, estimators: Sequence[Estimating], truth: Truth,
            tallies: Mapping[str, _Tally]) -> int:
    """Go through one episode; returns the number of moments."""
    episode = source.episode
    if not episode.timeline.batches:
        return 0
    setting = _setting(episode)
    matter = relevant_atoms(cast(WorldContext, setting))
    every = episode.domain.worth_asking(episode.spec.problem)
    atoms = [atom for atom in every if atom in matter]
    trackers = [estimator.track(episode) for estimator in estimators]
    count = 0
    for event in moments(episode, trackers):
        for estimator, tracker in zip(estimators, trackers, strict=True):
            estimator.check(episode, event)
            tracker.answer(event)
        _compare(source, event.observation, atoms, estimators, trackers, truth, tallies)
        for own in tallies.values():
            own.left_out += len(every) - len(atoms)
        count += 1
    return count


def moments(episode: RecordedEpisode, trackers: Sequence[Tracker]) -> Iterator[Asked]:
    """Go through an episode with trackers.

    Yields:
        each batch of answers, before any tracker takes it in: that is left to the caller.
    """
    last = (-1, '')
    for step in episode.timeline.steps:
        for moment in step.moments:
            seen = moment.observation
            if seen is None or (moment.kind is not Observed and moment.asked is None):
                continue
            if moment.kind is Observed or (seen.stamp_ns, seen.image_id) != last:
                for tracker in trackers:
                    tracker.observe(seen.without_visible_facts(), moment.moved)
                last = (seen.stamp_ns, seen.image_id)
            if moment.asked is not None:
                yield moment.asked
        if step.action is not None and step.action.action is not None:
            for tracker in trackers:
                tracker.act(step.action.action, step.action.feedback.status)


def _compare(source: Source, seen: Observation, atoms: Sequence[Atom],
             estimators: Sequence[Estimating], trackers: Sequence[Tracker], truth: Truth,
             tallies: Mapping[str, _Tally]) -> None:
    found = {atom: truth.holds(source, seen, atom) for atom in atoms}
    known = {atom: value for atom, value in found.items() if value is not None}
    base: State = frozenset()
    for place, (estimator, tracker) in enumerate(zip(estimators, trackers, strict=True)):
        own = tallies[estimator.method]
        state, probabilities = tracker.believed()
        base = state if place == 0 else base
        own.compared += len(atoms)
        own.same += sum((atom in state) is (atom in base) for atom in atoms)
        right = {atom: (atom in state) is value for atom, value in known.items()}
        own.atoms += [_Compared(
            atom.predicate, source.episode.spec.id, right[atom],
            float(np.clip(probabilities.get(atom, float(atom in state)), *MARGINAL_BOUNDS)), value)
            for atom, value in known.items()]
        if len(known) == len(atoms):
            own.exact.append((source.episode.spec.id, all(right.values())))


def _scores(own: _Tally, base: _Tally, resamples: int) -> dict[str, Any]:
    scores: dict[str, Any] = dict.fromkeys((
        'accuracy', 'interval95', 'exact_states', 'exact_interval95', 'brier', 'log_loss', 'ece',
        'ece_interval95', 'gain'))
    scores |= {'atoms': len(own.atoms), 'left_out': own.left_out, 'predicates': {},
               'agreement': own.same / own.compared if own.compared else None}
    if own.exact:
        episodes, moments = zip(*own.exact, strict=True)
        exact = fraction_of(moments, episodes)
        scores |= {'exact_states': exact.rate, 'exact_interval95': list(exact.interval)}
    if not own.atoms:
        return scores
    names, groups, *columns = map(np.array, zip(*own.atoms, strict=True))
    right, p, truths = (column.astype(np.float64) for column in columns)
    raw = np.array([atom.right for atom in base.atoms], np.float64)
    whole = fraction_of(right, groups.tolist())
    gain = paired_bootstrap(right, raw, groups, resamples)
    calibration = reliability(p, truths.astype(np.bool_), groups=groups,
                              resamples=min(resamples, 1000))
    scores |= {
        'accuracy': float(right.mean()), 'interval95': list(whole.interval),
        'brier': float(np.mean((p - truths) ** 2)),
        'log_loss': float(-np.mean(np.where(truths > 0.0, np.log(p), np.log1p(-p)))),
        'ece': calibration.ece, 'ece_interval95': [calibration.low, calibration.high],
        'gain': dataclasses.asdict(gain),
        'predicates': {str(name): {'atoms': int((names == name).sum()),
                                   'accuracy': float(right[names == name].mean())}
                       for name in np.unique(names)}}
    return scores


def flat_rows(result: Mapping[str, Any], answers: str = 'recorded') -> list[dict[str, Any]]:
    """Estimators as the rows of a table: ``answers``, ``estimator`` and plain values."""
    rows = []
    for name, scores in result['estimators'].items():
        flat: dict[str, Any] = {'answers': answers, 'estimator': name}
        for key, value in scores.items():
            if key.endswith('interval95') and value is not None:
                stem = key.removesuffix('interval95')
                flat[f'{stem}low'], flat[f'{stem}high'] = value
            elif key == 'gain' and value is not None:
                flat |= {f'gain_{part}' if part != 'difference' else 'gain': number
                         for part, number in value.items()}
            elif key == 'predicates':
                flat |= {f'accuracy_{predicate}': entry['accuracy']
                         for predicate, entry in value.items()}
            elif not key.endswith('interval95'):
                flat[key] = value
        rows.append(flat)
    return rows
