"""Learning an observation model from answers: with their truth, or by expectation-maximisation.

Rates are smoothed counts per predicate. What a predicate's answers teach is kept only if it
predicts the answers of episodes that it was not learned from better than the defaults do (what the
domain's priors say of models, else generic rates); the same holds for the weight of an answer's
probabilities (against its verdict alone).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain, InstantiatedModel
from sightplan.domains.problem_keys import problem_key
from sightplan.model import Answer, Atom, InputError, Problem, Verdict, excerpt
from sightplan.model.logged import LoggedAction, LoggedAnswer, without_seed
from sightplan.model.odds import probability
from sightplan_belief.estimator import Estimator, Evidence
from sightplan_belief.observation_model import (
    HIGH,
    LOW,
    ActionReliability,
    AnswerRates,
    Learned,
    ObservationModel,
    Platt,
    clip,
    logit,
)
from sightplan_belief.priors import read_priors

Floats = NDArray[np.float64]

PRIOR_ANSWERS = 4.0
"""Weight of the default rates against counts [answers]."""

PRIOR_PAIRS = 10.0
"""Weight of the default fraction of repeated errors against counts [pairs of answers]."""

PRIOR_ACTIONS = 20.0
"""Weight of the default reliabilities against counts [executions]: rare failures stay likely."""

FOLDS = 5
_MOST_NAMED = 5
_MOST_ITERATIONS, _MOST_EPISODE_ITERATIONS = 20, 5
_TOLERANCE = 0.01
"""Learning stops when the log evidence per image [nats], or every rate, changes by less."""
_RIDGE = 0.1
"""Strength of the ridge penalty on Platt's scaling."""
_VERDICTS = (Verdict.YES, Verdict.NO, Verdict.UNPARSED, Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Prediction:
    """P(atom is true | answer) from rates that were learned without the answer's episode.

    The prior is the fraction of true atoms among the predicate's answers.
    """

    default: float
    learned: float
    truth: bool
    episode: str


@dataclass(frozen=True, slots=True)
class PredicateReport:
    """Learned rates of one predicate, and their quality.

    Attributes:
        predicate: its name.
        rates: what goes into the calibration; the defaults, which do not, unless ``gain`` > 0.
        answers: number of answers (one per atom and image).
        pairs: how many of them repeat an earlier one about an unchanged atom on a new image.
        gain: held-out log likelihood of the answers, minus that of the defaults [nats]; None
            where all answers are from one group, so that nothing can be held out.
        platt_gain: what probabilities add to verdicts [nats per answer that has them], held out;
            None without.
        predictions: for the answers whose truth is known.
    """

    predicate: str
    rates: AnswerRates
    answers: int
    pairs: int
    gain: float | None
    platt_gain: float | None
    predictions: tuple[Prediction, ...]


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """A calibration and how it came about.

    Attributes:
        model: the calibration.
        predicates: what was learned about each predicate, sorted by name.
        log_evidence: after each iteration of EM over images, per image [nats]; else empty.
        iterations: of EM; 0 with labels.
        episodes: that were followed, see ``calibrate_episodes``; 0: none was.
    """

    model: ObservationModel
    predicates: tuple[PredicateReport, ...]
    log_evidence: tuple[float, ...] = ()
    iterations: int = 0
    episodes: int = 0


@dataclass(frozen=True, slots=True)
class Hindsight:
    """Answers of an episode, and the probability of their atoms given the whole episode.

    Attributes:
        answers: J of them, in order, one per image and atom.
        truths: (J,) P(the atom was true when it was asked about).
        unchanged: (J, 2) P(the atom was false, true, both then and at the last answer about it);
            0 where there is none before.
    """

    answers: tuple[LoggedAnswer, ...]
    truths: Floats
    unchanged: Floats


Follow = Callable[[ObservationModel], Hindsight]
"""Goes through one episode again, with these rates of answers."""


Marginals = Callable[[Problem, Sequence[Evidence], ObservationModel],
                     tuple[Mapping[Atom, float], float]]
"""Function of a problem, the answers about one image, and rates; returns P(atom is true) and the
log evidence."""


def calibrate(answers: Sequence[LoggedAnswer], actions: Sequence[LoggedAction], domain: Domain,
              problems: Iterable[Problem] = ()) -> CalibrationResult:
    """Learn from answers with their truth; answers without it are left out.

    Args:
        answers: of one model, wording and domain; see ``check_same_origin``.
        actions: likewise; may be empty.
        domain: theirs.
        problems: those that the actions may be about; others are guessed from the atoms.

    Raises:
        InputError: no answer has a truth, or an atom or action does not fit the domain.
    """
    answers = [a for a in _distinct(answers) if a.truth is not None]
    if not answers:
        raise InputError('not one answer says what is true (field "truth"); learn without labels: '
                         '--em')
    _check_atoms(answers, domain)
    weights = np.array([float(bool(a.truth)) for a in answers])
    defaults = read_priors(domain).complete(None)
    reports = _learn_predicates(answers, weights, 'labels', defaults)
    model = dataclasses.replace(
        _with_origin(answers, domain), learned='labels',
        predicates={r.predicate: r.rates for r in reports if r.rates.learned != 'default'})
    model = _learn_actions(model, defaults, actions, _Problems(domain, problems))
    return CalibrationResult(model, tuple(reports))


def calibrate_unlabelled(answers: Sequence[LoggedAnswer], domain: Domain, marginals: Marginals,
                         problems: Iterable[Problem] = (), *, most_images: int = 200,
                         progress: Callable[[int, int, float | None], None] = lambda *_: None,
                         ) -> CalibrationResult:
    """Learn from answers alone, by expectation-maximisation.

    E step: the probability of each atom given all answers about one image, under the constraints
    and the present rates. M step: rates from these expected truths, with the defaults as a weak
    prior. It stops when the log evidence per image grows by less than ``_TOLERANCE``.

    Only images with at least half as many answers as the fullest one are learned from: where few
    were asked, constraints say little, and which ones were asked depends on what was believed.
    The truth of an answer, where it is known, is used for ``Prediction`` only.

    Args:
        answers: of one model, wording and domain; see ``check_same_origin``.
        domain: theirs.
        marginals: the E step of one image, see ``estimator_marginals``.
        problems: those that the answers may be about; others are guessed from the atoms.
        most_images: of these, learn from so many at most, those with the most answers.
        progress: called with image, number of images and, after an iteration, the log evidence.

    Raises:
        InputError: there are no answers, or an atom does not fit the domain.
    """
    answers = _distinct(answers)
    if not answers:
        raise InputError('there is not one answer to learn from')
    _check_atoms(answers, domain)
    images: dict[tuple[str, str], list[LoggedAnswer]] = {}
    for answer in answers:
        images.setdefault((answer.episode, answer.image), []).append(answer)
    fullest = max(map(len, images.values()))
    images = {key: items for key, items in sorted(images.items(), key=lambda x: -len(x[1]))
              [:most_images] if 2 * len(items) >= fullest}
    answers = [a for a in answers if (a.episode, a.image) in images]
    known = _Problems(domain, problems)
    atoms_of = _atoms_by_episode(answers)
    model = defaults = read_priors(domain).complete(None)
    rows_of = _by_predicate(answers)
    evidence: list[float] = []
    while True:
        total, found = 0.0, {}
        for count, ((episode, image), items) in enumerate(images.items()):
            problem = known.problem(items[0].problem, atoms_of[episode])
            try:
                probabilities, log_evidence = marginals(
                    problem, [Evidence(a.atom, Answer(verdict=a.verdict), a.image)
                              for a in items], model)
            except InputError as error:
                raise InputError(f'episode {episode!r}: {error}; give the problem files with '
                                 f'--problems') from error
            found.update({(episode, image, a.atom): probabilities[a.atom] for a in items})
            total += log_evidence
            progress(count + 1, len(images), None)
        weights = np.array([found[a.episode, a.image, a.atom] for a in answers], np.float64)
        evidence.append(total / len(images))
        progress(len(images), len(images), evidence[-1])
        if (len(evidence) >= _MOST_ITERATIONS
                or (len(evidence) > 1 and evidence[-1] - evidence[-2] < _TOLERANCE)):
            break
        model = dataclasses.replace(model, predicates={
            predicate: _rates(_counts([answers[i] for i in rows], weights[rows]),
                              defaults.rates(predicate), 'em')
            for predicate, rows in rows_of.items()})
    reports = _learn_predicates(answers, weights, 'em', defaults)
    model = dataclasses.replace(
        _with_origin(answers, domain), learned='em',
        predicates={r.predicate: r.rates for r in reports if r.rates.learned != 'default'})
    return CalibrationResult(model, tuple(reports), tuple(evidence), len(evidence))


def calibrate_episodes(episodes: Sequence[Follow], domain: Domain, *,
                       progress: Callable[[int, int, bool], None] = lambda *_: None,
                       ) -> CalibrationResult:
    """Learn from whole episodes: from answers, and from later evidence about their atoms.

    E step: each episode's posterior over what was true at every answer, given all that happened
    in it, before and after. It is taken under the rates that the other episodes give, so that none
    confirms itself (``repeat`` alone is learned once, of all episodes). M step: rates from these
    expected truths, with the defaults as prior. It stops when no rate changes by ``_TOLERANCE``.

    Args:
        episodes: of one model, wording and domain; see ``check_same_origin``. Which truths their
            answers say is used for ``Prediction`` only.
        domain: theirs.
        progress: called with episode, number of episodes, and whether an iteration is over.

    Raises:
        InputError: there are no answers, or an atom does not fit the domain.
    """
    defaults = read_priors(domain).complete(None)
    others = [defaults] * len(episodes)
    before: dict[str, AnswerRates] = {}
    iterations = 0
    while True:
        found = []
        for number, follow in enumerate(episodes):
            found.append(follow(others[number]))
            progress(number + 1, len(episodes), False)
        iterations += 1
        answers = [a for one in found for a in one.answers]
        if not answers:
            raise InputError('there is not one answer to learn from')
        if iterations == 1:
            _check_atoms(answers, domain)
        weights, unchanged = (np.concatenate([getattr(one, name) for one in found])
                              for name in ('truths', 'unchanged'))
        rates, others = _shared(found, defaults)
        progress(len(episodes), len(episodes), True)
        change = max(max(abs(new.yes_true - old.yes_true), abs(new.yes_false - old.yes_false))
                     for name, new in rates.items()
                     for old in (before.get(name, defaults.rates(name)),))
        before = rates
        if iterations >= _MOST_EPISODE_ITERATIONS or change < _TOLERANCE:
            break
    reports = _learn_predicates(answers, weights, 'em', defaults, unchanged)
    model = dataclasses.replace(
        _with_origin(answers, domain), learned='em',
        predicates={r.predicate: r.rates for r in reports if r.rates.learned != 'default'})
    return CalibrationResult(model, tuple(reports), (), iterations, len(episodes))


def estimator_marginals(domain: Domain) -> Marginals:
    """The E step by the joint estimator under the domain's constraints."""
    estimators: dict[int, tuple[Problem, Estimator]] = {}

    def marginals(problem: Problem, evidence: Sequence[Evidence], model: ObservationModel,
                  ) -> tuple[Mapping[Atom, float], float]:
        if id(problem) not in estimators:
            estimators[id(problem)] = (problem, Estimator(domain, problem))
        estimator = estimators[id(problem)][1]
        estimator.observation_model = model
        estimate = estimator.estimate(evidence)
        return estimate.marginals, estimate.log_evidence

    return marginals


def check_same_origin(answers: Sequence[LoggedAnswer],
                      actions: Sequence[LoggedAction] = (), prompts: bool = True) -> None:
    """Check that all lines are about one model, wording of the questions, prompt and domain.

    Args:
        answers: to learn from.
        actions: likewise.
        prompts: whether to look at prompts, too.

    Raises:
        InputError: they are mixed; names what was found and the remedy.
    """
    for what, values, remedy in (
            ('models', {without_seed(a.model) for a in answers}, 'choose one with --model'),
            ('domains', {a.domain for a in answers} | {a.domain for a in actions},
             'choose one with --domain'),
            ('wordings of the questions (questions_sha256)',
             {a.questions_sha256 for a in answers}, 'give files of one wording'),
            ('prompts', {'unknown' if a.prompt is None else a.prompt or 'none'
                         for a in answers if prompts}, 'choose one with --prompt')):
        if len(values) > 1:
            named = ', '.join(repr(excerpt(value)) for value in sorted(values)[:_MOST_NAMED])
            named += ', ...' if len(values) > _MOST_NAMED else ''
            raise InputError(f'the answers are of several {what}: {named} ({remedy}: a '
                             f'calibration is about one)')


def guess_problem(domain: Domain, atoms: Iterable[Atom], name: str = 'guessed') -> Problem:
    """A problem with the objects that occur in atoms, without initial state and goal.

    An object has the narrowest type of the places where it occurs.

    Raises:
        InputError: an atom does not fit the domain.
    """
    schema = domain.schema
    types: dict[str, str] = {}
    for atom in sorted(set(atoms)):
        predicate = schema.predicates.get(atom.predicate)
        if predicate is None or len(predicate.types) != len(atom.args):
            raise InputError(f'{atom} is not an atom of domain {domain.name} (its predicates: '
                             f'{", ".join(schema.predicates)})')
        for argument, kind in zip(atom.args, predicate.types, strict=True):
            before = schema.constants.get(argument) or types.get(argument, kind)
            if not (schema.is_a(kind, before) or schema.is_a(before, kind)):
                raise InputError(f'{atom}: {argument} is a {before} elsewhere, here a {kind} '
                                 f'(give the problem files with --problems)')
            if argument not in schema.constants:
                types[argument] = kind if schema.is_a(kind, before) else before
    return Problem(name, domain.reference, types, frozenset(), (), domain.pddl)


class _Problems:
    """The problems that lines are about, by key, else guessed from atoms."""

    def __init__(self, domain: Domain, problems: Iterable[Problem]) -> None:
        self._domain = domain
        self._known = {problem_key(problem): problem for problem in problems}
        self._guessed: dict[frozenset[Atom], Problem] = {}
        self._models: dict[int, InstantiatedModel] = {}

    def problem(self, key: str, atoms: Iterable[Atom]) -> Problem:
        """The problem of that key, else one with the objects of the atoms."""
        if key in self._known:
            return self._known[key]
        found = frozenset(atoms)
        if found not in self._guessed:
            self._guessed[found] = guess_problem(self._domain, found)
        return self._guessed[found]

    def model(self, problem: Problem) -> InstantiatedModel:
        """The transition model of one of its problems."""
        if id(problem) not in self._models:
            self._models[id(problem)] = self._domain.model(problem)
        return self._models[id(problem)]


def _distinct(answers: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """First answer of each episode, image and atom: repeats about an image add no information."""
    first: dict[tuple[str, str, Atom], LoggedAnswer] = {}
    for answer in answers:
        first.setdefault((answer.episode, answer.image, answer.atom), answer)
    return list(first.values())


def _check_atoms(answers: Sequence[LoggedAnswer], domain: Domain) -> None:
    for episode, atoms in _atoms_by_episode(answers).items():
        guess_problem(domain, atoms, episode)


def _atoms_by_episode(answers: Sequence[LoggedAnswer]) -> dict[str, set[Atom]]:
    found: dict[str, set[Atom]] = {}
    for answer in answers:
        found.setdefault(answer.episode, set()).add(answer.atom)
    return found


def _with_origin(answers: Sequence[LoggedAnswer], domain: Domain) -> ObservationModel:
    return ObservationModel(
        model=answers[0].model, domain=domain.name, answers=len(answers),
        questions_sha256=answers[0].questions_sha256 or domain.question_hash,
        prompt=answers[0].prompt,
        problems=tuple(sorted({a.problem or a.episode for a in answers})))


def _by_predicate(answers: Sequence[LoggedAnswer]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for number, answer in enumerate(answers):
        rows.setdefault(answer.atom.predicate, []).append(number)
    return dict(sorted(rows.items()))


# --- rates -------------------------------------------------------------------------------------

def _counts(answers: Sequence[LoggedAnswer], weights: Floats) -> Floats:
    """(2, 4) expected number of answers: by truth (false, true) and verdict (``_VERDICTS``)."""
    counts = np.zeros((2, len(_VERDICTS)))
    for answer, weight in zip(answers, weights, strict=True):
        column = _VERDICTS.index(answer.verdict)
        counts[0, column] += 1.0 - weight
        counts[1, column] += weight
    return counts


def _rates(counts: Floats, default: AnswerRates, learned: Learned, separate: bool = False,
           ) -> AnswerRates:
    """Smoothed rates; ``separate``: unreadable and unknown answers depend on the truth.

    Args:
        counts: (2, 4), see ``_counts``.
        default: the prior mean; that of "yes" weighs as many answers as the default rates do.
        learned: where the counts come from.
        separate: see above.
    """
    strengths = (default.strength_false, default.strength_true)
    yes = [clip(_smooth(counts[v, 0], counts[v, :2].sum(), rate, strengths[v]))
           for v, rate in ((0, default.yes_false), (1, default.yes_true))]
    pools = counts if separate else np.stack([counts.sum(axis=0)] * 2)
    unread = [clip(_smooth(pool[2], pool.sum(), rate, PRIOR_ANSWERS))
              for pool, rate in zip(pools, (default.unread_false, default.unread_true),
                                    strict=True)]
    unknown = [clip(_smooth(pool[3], pool.sum() - pool[2], rate, PRIOR_ANSWERS))
               for pool, rate in zip(pools, (default.unknown_false, default.unknown_true),
                                     strict=True)]
    return AnswerRates(yes[1], yes[0], unread[1], unread[0], unknown[1], unknown[0],
                       n_true=float(counts[1].sum()), n_false=float(counts[0].sum()),
                       learned=learned)


def _shared(found: Sequence[Hindsight], defaults: ObservationModel,
            ) -> tuple[dict[str, AnswerRates], list[ObservationModel]]:
    """Rates by predicate from all episodes, and for each episode the model from all others."""
    own: list[dict[str, tuple[Floats, Floats]]] = []
    for one in found:
        own.append({predicate: (
            _counts([one.answers[i] for i in rows], one.truths[rows]),
            _pairs([one.answers[i] for i in rows], one.truths[rows], one.unchanged[rows]))
            for predicate, rows in _by_predicate(one.answers).items()})
    names = sorted({predicate for counts in own for predicate in counts})
    counts, pairs = ({name: sum((part[name][what] for part in own if name in part),
                                np.zeros(shape)) for name in names}
                     for what, shape in ((0, (2, len(_VERDICTS))), (1, (2, 2, 2))))
    rates = {name: _rates(counts[name], defaults.rates(name), 'em') for name in names}
    repeats = _fit_repeats(rates, pairs, defaults)
    rates = {name: dataclasses.replace(rates[name], repeat=repeats[name]) for name in names}
    models = [dataclasses.replace(defaults, predicates={**defaults.predicates, **rates, **{
        name: dataclasses.replace(_rates(counts[name] - part[0], defaults.rates(name), 'em'),
                                  repeat=repeats[name])
        for name, part in parts.items()}}) for parts in own]
    return rates, models


def _smooth(hits: float, n: float, prior: float, strength: float) -> float:
    return float((hits + prior * strength) / (n + strength))


def _log_likelihood(rates: AnswerRates, answers: Sequence[LoggedAnswer], weights: Floats) -> float:
    """Expected log P(answers | truth) [nats]."""
    table = np.array([rates.likelihoods(verdict) for verdict in _VERDICTS])
    return float((_counts(answers, weights).T * np.log(table)).sum())


def _learn_predicates(answers: Sequence[LoggedAnswer], weights: Floats, learned: Learned,
                      defaults: ObservationModel, unchanged: Floats | None = None,
                      ) -> list[PredicateReport]:
    rows_of = _by_predicate(answers)
    pairs = {predicate: _pairs([answers[i] for i in rows], weights[rows],
                               None if unchanged is None else unchanged[rows])
             for predicate, rows in rows_of.items()}
    fitted = {predicate: _rates(_counts([answers[i] for i in rows], weights[rows]),
                                defaults.rates(predicate), learned)
              for predicate, rows in rows_of.items()}
    repeats = _fit_repeats(fitted, pairs, defaults)
    return [_learn_predicate(predicate, [answers[i] for i in rows], weights[rows], learned,
                             defaults.rates(predicate), repeats[predicate],
                             round(float(pairs[predicate].sum())))
            for predicate, rows in rows_of.items()]


def _learn_predicate(predicate: str, answers: Sequence[LoggedAnswer], weights: Floats,
                     learned: Learned, default: AnswerRates, repeat: float, pairs: int,
                     ) -> PredicateReport:
    """Choose between the defaults, rates, and rates with truth-dependent unread and unknown."""
    folds = _folds(answers)
    n_folds = int(folds.max()) + 1
    scores = dict.fromkeys((False, True), 0.0)
    baseline, platt_gain = 0.0, 0.0
    predictions: list[Prediction] = []
    held: list[tuple[int, float, float, float]] = []  # row, log ratios (rates, platt), log odds
    for fold in range(n_folds if n_folds > 1 else 0):
        out = np.flatnonzero(folds == fold).tolist()
        rest = np.flatnonzero(folds != fold).tolist()
        train, test = [answers[i] for i in rest], [answers[i] for i in out]
        baseline += _log_likelihood(default, test, weights[out])
        counts = _counts(train, weights[rest])
        fits = {separate: _rates(counts, default, learned, separate) for separate in scores}
        for separate, rates in fits.items():
            scores[separate] += _log_likelihood(rates, test, weights[out])
        odds = math.log((counts[1].sum() + 0.5) / (counts[0].sum() + 0.5))
        platt = _fit_platt(train, weights[rest])
        for row in out:
            answer = answers[row]
            better = ratio = _log_ratio(fits[False], answer.verdict)
            p = _known_p(answer)
            if platt is not None and p is not None:
                better = platt.log_ratio(p)
                platt_gain += (_log_truth(better + odds, float(weights[row]))
                               - _log_truth(ratio + odds, float(weights[row])))
            held.append((row, ratio, better, odds))
    gain = max(scores.values()) - baseline if held else None
    kept = gain is None or gain > 0.0
    use_platt = kept and bool(held) and platt_gain > 0.0
    rates = default
    if kept:
        rates = dataclasses.replace(
            _rates(_counts(answers, weights), default, learned,
                   bool(held) and scores[True] > scores[False]),
            repeat=repeat, platt=_fit_platt(answers, weights) if use_platt else None)
    for row, ratio, better, odds in sorted(held):
        truth = answers[row].truth
        if truth is not None:
            before = _log_ratio(default, answers[row].verdict)
            after = better if use_platt else ratio if kept else before
            predictions.append(Prediction(probability(before + odds), probability(after + odds),
                                          truth, answers[row].episode))
    asked_p = sum(_known_p(answer) is not None for answer in answers)
    return PredicateReport(predicate, rates, len(answers), pairs, gain,
                           platt_gain / asked_p if asked_p and held else None, tuple(predictions))


def _folds(answers: Sequence[LoggedAnswer]) -> NDArray[np.int64]:
    """Numbers of the folds: by episode; if there is but one, by image; else all are 0."""
    for name in ('episode', 'image'):
        groups = sorted({getattr(a, name) for a in answers})
        if len(groups) > 1:
            number = {group: i % FOLDS for i, group in enumerate(groups)}
            return np.array([number[getattr(a, name)] for a in answers])
    return np.zeros(len(answers), np.int64)


def _log_ratio(rates: AnswerRates, verdict: Verdict) -> float:
    false, true = rates.likelihoods(verdict)
    return math.log(true / false)


def _log_truth(log_odds: float, weight: float) -> float:
    """Expected log probability of an uncertain truth [nats]."""
    true, false = probability(log_odds), probability(-log_odds)
    return weight * math.log(max(true, 1e-12)) + (1.0 - weight) * math.log(max(false, 1e-12))


# --- probabilities of answers ------------------------------------------------------------------

def _known_p(logged: LoggedAnswer) -> float | None:
    """P(yes) among yes and no, where it is known and the answer says one of them.

    Of a bounded one nothing is learned: leaving out answers by their logit does not bias a
    regression of the truth on the logit.
    """
    answer = logged.answer
    return None if answer.bounded or answer.verdict.says is None else answer.yes_probability


def _fit_platt(answers: Sequence[LoggedAnswer], weights: Floats) -> Platt | None:
    """Logistic regression of the truth on the logit of "yes", at fixed log prior odds.

    Returns:
        None where no answer has probabilities, or all are about true (or all about false) atoms.
    """
    known = {i: p for i, answer in enumerate(answers) if (p := _known_p(answer)) is not None}
    rows = list(known)
    y = weights[rows]
    if not rows or y.sum() < 0.5 or (1.0 - y).sum() < 0.5:
        return None
    x = np.array([logit(p) for p in known.values()])
    features = np.stack([x, np.ones_like(x)])
    odds = math.log(y.sum() / (1.0 - y).sum())
    theta = np.zeros(2)
    for _ in range(50):  # Newton's method with a step limit
        p = 1.0 / (1.0 + np.exp(-np.clip(theta @ features + odds, -30.0, 30.0)))
        gradient = features @ (y - p) - _RIDGE * theta
        curvature = (features * (p * (1.0 - p))) @ features.T + _RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < 1e-8:
            break
    return Platt(float(theta[0]), float(theta[1]))


# --- repeated answers --------------------------------------------------------------------------

def _pairs(answers: Sequence[LoggedAnswer], weights: Floats, unchanged: Floats | None = None,
           ) -> Floats:
    """(2, 2, 2) expected number of pairs of answers by truth, wrong before, wrong now.

    A pair is two answers of yes or no about one atom on consecutive images that were asked about
    it, its truth unchanged.

    Args:
        answers: J, in order.
        weights: (J,) P(the atom is true).
        unchanged: see ``Hindsight``; None: as if the truth were independent on the two images.
    """
    counts = np.zeros((2, 2, 2))
    last: dict[tuple[str, Atom], int] = {}
    for number, answer in enumerate(answers):
        key = (answer.episode, answer.atom)
        place = last.get(key)
        last[key] = number
        if place is None or None in (answers[place].verdict.says, answer.verdict.says):
            continue
        w, v = float(weights[number]), float(weights[place])
        both = ((1.0 - w) * (1.0 - v), w * v) if unchanged is None else unchanged[number]
        for truth, wrong in ((0, Verdict.YES), (1, Verdict.NO)):
            counts[truth, int(answers[place].verdict is wrong),
                   int(answer.verdict is wrong)] += both[truth]
    return counts


def _fit_repeats(rates: Mapping[str, AnswerRates], pairs: Mapping[str, Floats],
                 defaults: ObservationModel) -> dict[str, float]:
    """Repeat rate by predicate; the common rate is the prior of each."""
    everywhere = _fit_repeat([(rates[p], pairs[p]) for p in rates], defaults.other.repeat)
    return {p: _fit_repeat([(rates[p], pairs[p])], everywhere) for p in rates}


def _fit_repeat(groups: Sequence[tuple[AnswerRates, Floats]], prior: float) -> float:
    """The most probable ``repeat`` of the chain of errors, on a grid, under a Beta prior."""
    grid = np.linspace(0.01, 0.99, 99)
    score = PRIOR_PAIRS * (prior * np.log(grid) + (1.0 - prior) * np.log(1.0 - grid))
    for rates, pairs in groups:
        for truth, error in ((0, rates.yes_false), (1, 1.0 - rates.yes_true)):
            again = np.clip(np.maximum(grid, error), LOW, HIGH)
            new = np.clip(error * (1.0 - again) / (1.0 - error), 1e-9, HIGH)
            for before, wrong in ((1, again), (0, new)):
                right_now, wrong_now = pairs[truth, before]
                score = score + wrong_now * np.log(wrong) + right_now * np.log(1.0 - wrong)
    return float(grid[int(score.argmax())])


# --- actions -----------------------------------------------------------------------------------

def _learn_actions(model: ObservationModel, defaults: ObservationModel,
                   actions: Sequence[LoggedAction], problems: _Problems) -> ObservationModel:
    """Reliabilities from true states; of the kinds of execution, the first that explains it."""
    outcomes: dict[str, Counter[str]] = {}
    effects: dict[tuple[str, str, bool], list[int]] = {}
    applied, verdicts = Counter[bool](), Counter[tuple[bool, bool]]()
    atoms: dict[str, set[Atom]] = {}
    for line in actions:
        atoms.setdefault(line.episode, set()).update(line.before | line.after)
    for line in actions:
        transition = problems.model(problems.problem(line.problem, atoms[line.episode]))
        if line.action not in transition.actions:
            raise InputError(f'{line.action} is not an action of the problem of episode '
                             f'{line.episode!r} (give the problem files with --problems)')
        legal = transition.applicable(line.action, line.before)
        applied[legal] += 1
        verdicts[legal, line.executed] += 1
        if not (legal and line.executed):
            continue
        changes = {atom: value for atom, value in
                   transition.effects(line.action, line.before).items()
                   if (atom in line.before) is not value}
        kind = _outcome(transition, line, changes)
        outcomes.setdefault(line.action.name, Counter())[kind] += 1
        if kind == 'success':
            for atom, value in changes.items():
                held = effects.setdefault((line.action.name, atom.predicate, value), [0, 0])
                held[0] += (atom in line.after) is value
                held[1] += 1
    learned = {}
    for name, counts in sorted(outcomes.items()):
        n, prior = sum(counts.values()), defaults.action(name)
        fractions = {kind: _smooth(counts[kind], n, getattr(prior, kind), PRIOR_ACTIONS)
                     for kind in ('success', 'no_op', 'slip')}
        learned[name] = ActionReliability(**fractions, n=n, effects={
            f'{predicate} {"+" if value else "-"}': clip(_smooth(held, total, 0.95, 2.0))
            for (action, predicate, value), (held, total) in sorted(effects.items())
            if action == name and held < total})
    return dataclasses.replace(
        model, actions=learned,
        rejection=clip(_smooth(verdicts[True, False], applied[True], defaults.rejection,
                               2.0 * PRIOR_ACTIONS)),
        execution_if_inapplicable=clip(_smooth(
            verdicts[False, True], applied[False], defaults.execution_if_inapplicable,
            2.0 * PRIOR_ACTIONS)))


def _outcome(transition: InstantiatedModel, line: LoggedAction,
             changes: Mapping[Atom, bool]) -> str:
    """Outcome of an executed action: success (at least in part), no_op or slip."""
    if all((atom in line.after) is value for atom, value in changes.items()):
        return 'success'
    if line.after == line.before:
        return 'no_op'
    action = line.action
    for other in transition.actions:
        if (other.name == action.name
                and sum(a != b for a, b in zip(other.args, action.args, strict=True)) == 1
                and transition.applicable(other, line.before)
                and transition.apply(other, line.before) == line.after):
            return 'slip'
    return ('success' if any((atom in line.after) is value for atom, value in changes.items())
            else 'no_op')
