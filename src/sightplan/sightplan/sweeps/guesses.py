"""Guesses of the cost of an item of a run that has not been measured, from its settings.

* A method that asks yes/no questions asks as many as were measured for the suite with the errors
  of this model, or of many models (``Suite.effort``). Without such numbers: the ground atoms that
  are worth asking, ``ENUMERATIONS`` times, and ``CHECKS_PER_STEP`` for each action; as many
  actions as the shortest plan has, or half the budget where that is not known.
* A method whose model plans sends one request for each action. Where the suite has published
  success rates, an episode that is not solved takes the whole budget, and one that is solved the
  mean of the budget and the shortest plan; without them see above, and one request more.
* Tokens that go in: the prompts of some problems are rendered, with a history of half the actions,
  and their characters and pictures are counted as ``TokenRates`` says.
* ``ANSWER_TOKENS`` come out for a word, ``REASONS_TOKENS`` more for an explanation,
  ``STEP_TOKENS`` for each action of a plan.
* A sample is one question, or one request where its suite has other ones; those of one picture
  share it.
* Seconds: ``EPISODE_S`` for each episode, and more for each question and request, see
  ``QUESTION_S`` and ``REQUEST_S``.

Money is known where the backend has prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from statistics import fmean
from typing import Any

from sightplan.agent import (
    answerer_class,
    needs_model,
    needs_visual_planner,
    prompt_name,
)
from sightplan.domains import Became, load_domain
from sightplan.model import Action, EpisodeSpec, PastStep
from sightplan.model.query import can_ask, traits_of
from sightplan.queries.generate import Generate
from sightplan.runs import EpisodePlan, RunSettings, asks_for_reasons, specify
from sightplan.runs.samples import SamplePlan
from sightplan.runs.worlds import describes
from sightplan.vlm.api import backend_choices, backend_class

ENUMERATIONS, CHECKS_PER_STEP = 2, 6
ANSWER_TOKENS, REASONS_TOKENS, STEP_TOKENS = 2, 150, 30
EPISODE_S, REQUEST_S = 0.3, 5.0
QUESTION_S = {'noisy_oracle': 0.001, 'embedded': 0.03}
_OTHER_QUESTION_S = 0.3
_TYPICAL = 'mean of five'
"""The model of ``published.json`` that stands for one of which nothing is published."""
_PROBLEMS = 4
"""Number of problems of a run whose prompts are rendered, about."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of episodes.

    Attributes:
        questions: yes/no questions.
        requests: requests to models that are asked over a network, or see pictures.
        prompt_tokens: tokens that go into models.
        completion_tokens: tokens that come out.
        cost_usd: price of these tokens [USD]; None where no price is known.
        seconds: duration of the episodes, one after another [s].
    """

    questions: float = 0.0
    requests: float = 0.0
    prompt_tokens: float = 0.0
    completion_tokens: float = 0.0
    cost_usd: float | None = None
    seconds: float = 0.0

    def __add__(self, other: Figures) -> Figures:
        sums: list[Any] = [b if a is None else a if b is None else a + b
                           for a, b in zip(astuple(self), astuple(other), strict=True)]
        return Figures(*sums)

    def __mul__(self, number: float) -> Figures:
        products: list[Any] = [None if value is None else value * number
                               for value in astuple(self)]
        return Figures(*products)

    def corrected(self, measured: Figures, guessed: Figures) -> Figures:
        """Return these figures, each times its ratio of measured to guessed, where both are known.

        Args:
            measured: what other episodes took.
            guessed: the guess for the same episodes.
        """
        values: list[Any] = [value * (known / expected) if value and known and expected else value
                             for value, known, expected in zip(
                                 astuple(self), astuple(measured), astuple(guessed), strict=True)]
        return Figures(*values)


@dataclass(frozen=True, slots=True)
class TokenRates:
    """The tokens that a model makes of a prompt; the defaults are rough means over models.

    Attributes:
        per_character: tokens of a character of text.
        per_picture: tokens of a picture.
        around: tokens of the chat template around the texts.
    """

    per_character: float = 0.25
    per_picture: float = 1000.0
    around: float = 0.0

    def tokens(self, characters: float, pictures: float = 1.0) -> float:
        """Return the tokens of a prompt."""
        return self.around + self.per_character * characters + self.per_picture * pictures


USUAL = TokenRates()


def guess(settings: RunSettings, rates: TokenRates = USUAL) -> Figures:
    """Return the mean cost of an item of a run.

    Args:
        settings: of the run.
        rates: tokens that its model makes of a prompt.

    Raises:
        InputError: the settings are wrong.
    """
    plan = specify(settings)
    if isinstance(plan, SamplePlan):
        return _guess_sample(plan, rates)
    assert isinstance(plan, EpisodePlan)
    specs = plan.items[::max(1, len(plan.items) // _PROBLEMS)]
    return sum((_guess(plan, spec, rates) for spec in specs), Figures()) * (1 / len(specs))


def _guess_sample(plan: SamplePlan, rates: TokenRates) -> Figures:
    answerer, settings = answerer_class(plan.settings.method), plan.settings
    if not answerer.needs_model:
        return Figures()
    reasons = bool(plan.domains) and load_domain(plan.domains[0]).grounding_prompt(
        answerer.prompt).reasoning
    count = len(plan.items)
    characters = sum(len(sample.question.text) for sample in plan.items
                     if sample.question is not None) / count
    pictures = len(plan.clusters) / count if answerer.sees_pictures else 0.0
    if not traits_of(backend_class(settings.backend)).pixels:
        return Figures(1.0, seconds=_question_s(settings))
    return _priced(plan, Figures(
        1.0, 1.0, rates.tokens(characters, pictures),
        REASONS_TOKENS if reasons else ANSWER_TOKENS,
        seconds=REQUEST_S if reasons else _question_s(settings)))


def _guess(plan: EpisodePlan, spec: EpisodeSpec, rates: TokenRates) -> Figures:
    settings = plan.settings
    if not needs_model(settings.method):
        return Figures(seconds=EPISODE_S)
    planner = needs_visual_planner(settings.method)
    found = (_of_planner if planner else _of_grounder)(plan, spec, rates)
    if traits_of(backend_class(settings.backend)).pixels:
        return _priced(plan, found)
    # Nothing goes in or out of a simulated model, which has its replies at once.
    return Figures(found.questions, seconds=EPISODE_S if planner else found.seconds)


def _of_planner(plan: EpisodePlan, spec: EpisodeSpec, rates: TokenRates) -> Figures:
    settings, requests = plan.settings, _requests_of_planner(plan, spec)
    name = prompt_name(settings.method, settings.method_options)
    problem = spec.problem
    action = next(iter(plan.domain.model(problem).actions), Action('none', ()))
    past = PastStep(str(action), plan.domain.became(name, Became.REJECTED))
    words = plan.domain.planning_prompt(name, problem, [past] * int((requests - 1) / 2),
                                        stops_at_goal=spec.stop_at_goal,
                                        described=not _pictures(settings))
    characters = len(words.system) + len(words.before_image) + len(words.after_image)
    steps = 1 if words.single else problem.optimal_length or spec.max_actions / 2
    completion = steps * STEP_TOKENS + (REASONS_TOKENS if words.reasoning else 0)
    return Figures(0.0, requests, requests * rates.tokens(characters, _pictures(settings)),
                   requests * completion, seconds=EPISODE_S + requests * REQUEST_S)


def _pictures(settings: RunSettings) -> float:
    """Pictures of each request: none where the world describes scenes in words."""
    return 0.0 if describes(settings.domain, settings.world_options) else 1.0


def _requests_of_planner(plan: EpisodePlan, spec: EpisodeSpec) -> float:
    shortest, budget = spec.problem.optimal_length, spec.max_actions
    rates = [] if plan.suite is None else [
        plan.suite.published.find(model, 'solved', domain=plan.domain.name, method=spec.method,
                                  split=spec.split, failure_probability=0.0)
        for model in (_model_name(plan.settings), _TYPICAL)]
    known = next(filter(None, rates), None)
    if known is None or not shortest:
        return (shortest or budget / 2) + 1
    return (1 - known.value) * budget + known.value * (min(shortest, budget) + budget) / 2


def _of_grounder(plan: EpisodePlan, spec: EpisodeSpec, rates: TokenRates) -> Figures:
    settings, domain = plan.settings, plan.domain
    atoms = domain.worth_asking(spec.problem)
    steps = spec.problem.optimal_length or spec.max_actions / 2
    measured = None if plan.suite is None else plan.suite.effort.find(
        settings.protocol, domain.name, spec.split, settings.method, _model_name(settings))
    questions, memory = measured or (len(atoms) * ENUMERATIONS + steps * CHECKS_PER_STEP, 0.0)
    prompt = prompt_name(settings.method, settings.method_options)
    around = domain.grounding_prompt(
        prompt, described=not _pictures(settings)) if prompt else None
    texts = [domain.question(atom).text for atom in atoms]
    characters = memory + (fmean(map(len, texts)) if around is None else fmean(
        len(around.system) + len(around.before_image) + len(around.after_image)
        + len(around.ask(text)) for text in texts))
    reasons = asks_for_reasons(settings.method, settings.domain)
    requests, completion = questions, float(REASONS_TOKENS if reasons else ANSWER_TOKENS)
    seconds = questions * _question_s(settings)
    backend = backend_class(settings.backend)
    if around is not None and around.reading and can_ask(backend, Generate):
        requests, completion = ENUMERATIONS + CHECKS_PER_STEP * steps, 5.0 * STEP_TOKENS
        seconds = requests * REQUEST_S
    elif reasons and traits_of(backend).pixels:
        seconds += questions * REQUEST_S
    return Figures(questions, requests, requests * rates.tokens(characters, _pictures(settings)),
                   requests * completion, seconds=EPISODE_S + seconds)


def _question_s(settings: RunSettings) -> float:
    return QUESTION_S.get(settings.backend, _OTHER_QUESTION_S)


def _model_name(settings: RunSettings) -> str:
    """The name of a run's model; '' where its backend has no settings that name one."""
    options: Mapping[str, Any] = settings.backend_options
    return str(options.get('table') or options.get('name') or options.get('model') or '')


def _priced(plan: EpisodePlan | SamplePlan, figures: Figures) -> Figures:
    """Figures with the price of their tokens, where the backend has prices."""
    prices = backend_choices(plan.settings.backend, plan.model_options() or {})
    cost = (figures.prompt_tokens * prices.price_in
            + figures.completion_tokens * prices.price_out) / 1e6
    return figures + Figures(cost_usd=cost if prices.price_in or prices.price_out else None)
