"""Estimates of what is left of a sweep: episodes, questions, tokens, money and hours.

An episode costs what the episodes of the same method, domain, split and model in the sweep's
directory did in the mean. Where there is none, it is guessed by a rough rule:

* questions: the ground atoms that are worth asking, ``ENUMERATIONS`` times, and
  ``CHECKS_PER_STEP`` for each action; as many actions as the shortest plan has, or half the
  budget where that is not known;
* a method whose model plans sends one request for each action, and one more;
* tokens: a quarter of the characters of the prompt, and ``IMAGE_TOKENS``, for each question or
  request that a model is asked (it may share the image among questions, and then takes fewer);
  ``ANSWER_TOKENS`` come out for a word, ``REASONS_TOKENS`` for an explanation, ``PLAN_TOKENS`` for
  a plan;
* a sample is one question, or one request where its suite has other ones; those of one picture
  share it;
* seconds: ``EPISODE_S`` for each episode, and more for each question and request, see
  ``QUESTION_S`` and ``REQUEST_S``.

Money is known where the backend has prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from sightplan.agent import (
    answerer_class,
    needs_grounder,
    needs_model,
    needs_visual_planner,
    prompt_name,
)
from sightplan.domains import load_domain
from sightplan.metrics import measures
from sightplan.model import InputError, Problem
from sightplan.model.query import can_ask, traits_of
from sightplan.queries.generate import Generate
from sightplan.records import RunStore
from sightplan.runs import (
    EpisodePlan,
    RunSettings,
    asks_for_reasons,
    specify,
)
from sightplan.runs.rules import budget
from sightplan.runs.samples import SamplePlan
from sightplan.sweeps.cells import Cell, Sweep
from sightplan.vlm.api import backend_class, backend_settings

ENUMERATIONS, CHECKS_PER_STEP = 2, 6
IMAGE_TOKENS = 1000
ANSWER_TOKENS, REASONS_TOKENS, PLAN_TOKENS = 2, 150, 150
EPISODE_S, REQUEST_S = 0.3, 5.0
QUESTION_S = {'noisy_oracle': 0.001, 'embedded': 0.03}
_OTHER_QUESTION_S = 0.3
_SAMPLE = 4
FIGURES = ('questions', 'prompt_tokens', 'completion_tokens', 'cost_usd', 'seconds')


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of episodes.

    Attributes:
        questions: yes/no questions.
        prompt_tokens: tokens that go into models.
        completion_tokens: tokens that come out.
        cost_usd: price of these tokens [USD]; None where no price is known.
        seconds: duration of the episodes, one after another [s].
    """

    questions: float = 0.0
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of what is left of a sweep.

    Attributes:
        missing: number of episodes that are left.
        measured: number of missing episodes of a kind that has measured episodes.
        from_measured: cost of the missing episodes of measured kinds.
        from_rule: cost of the other missing episodes, by the rough rule.
    """

    missing: int
    measured: int
    from_measured: Figures
    from_rule: Figures

    @property
    def total(self) -> Figures:
        """The estimated cost of all missing episodes."""
        return self.from_measured + self.from_rule

    @property
    def basis(self) -> str:
        """The source of the figures: ``measured``, ``guessed`` or ``partly measured``."""
        if self.measured == self.missing:
            return 'measured'
        return 'partly measured' if self.measured else 'guessed'

    def as_json(self) -> dict[str, Any]:
        """Figures by name, each with its value, how much of it was guessed, and ``basis``."""
        found: dict[str, Any] = {}
        for name in FIGURES:
            value, guessed = getattr(self.total, name), getattr(self.from_rule, name)
            digits = 4 if name == 'cost_usd' else 1 if name == 'seconds' else 0
            found[name] = {'value': _rounded(value, digits),
                           'guessed': _rounded(guessed, digits), 'basis': self.basis}
        return found


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits) if digits else round(value)


def estimate(sweep: Sweep, out: Path) -> Estimate:
    """Estimate what is left of a sweep in ``out``; what ended in an error is repeated.

    A run whose lines of results are not readable has none, see ``damaged``.
    """
    sums: dict[tuple[str, ...], tuple[Figures, int]] = {}
    missing: list[tuple[Cell, int]] = []
    for cell in sweep.every:
        lines: list[dict[str, Any]] = []
        with suppress(InputError):
            lines = [line for line in RunStore(out.expanduser() / cell.name).lines()
                     if measures.scored(line)]
        if lines:
            figures, n = sums.get(_kind(cell), (Figures(), 0))
            sums[_kind(cell)] = sum(map(_of_line, lines), figures), n + len(lines)
        if cell in sweep.cells and cell.episodes > len(lines):
            missing.append((cell, cell.episodes - len(lines)))
    measured, from_measured, from_rule = 0, Figures(), Figures()
    guesses: dict[tuple[str, ...], Figures] = {}
    for cell, n in missing:
        kind = _kind(cell)
        if kind in sums:
            figures, count = sums[kind]
            measured += n
            from_measured += figures * (n / count)
        else:
            if kind not in guesses:
                guesses[kind] = guess(cell.settings)
            from_rule += guesses[kind] * n
    return Estimate(sum(n for _, n in missing), measured, from_measured, from_rule)


def _kind(cell: Cell) -> tuple[str, ...]:
    """Episodes of a kind take about as long."""
    s = cell.settings
    model = ''
    if cell.content['backend'] is not None:
        options = s.backend_options
        model = f'{s.backend} {options.get("table", options.get("model", ""))}'
    return s.suite, s.method, s.domain, s.problems or s.split, model


def _of_line(line: Mapping[str, Any]) -> Figures:
    used = line.get('usage') or {}
    return Figures(line.get('questions', 1), used.get('prompt_tokens', 0),
                   used.get('completion_tokens', 0), used.get('cost_usd'), line['seconds'])


def guess(settings: RunSettings) -> Figures:
    """Return the cost of one item by the rough rule.

    Raises:
        InputError: the settings are wrong.
    """
    plan = specify(settings)
    if isinstance(plan, SamplePlan):
        return _guess_sample(plan)
    assert isinstance(plan, EpisodePlan)
    each = max(1, len(plan.pairs) // _SAMPLE)
    found = [_guess(plan, split, problem) for split, problem in plan.pairs[::each]]
    return sum(found, Figures()) * (1 / len(found))


def _guess_sample(plan: SamplePlan) -> Figures:
    answerer, settings = answerer_class(plan.settings.method), plan.settings
    if not answerer.needs_model:
        return Figures()
    reasons = bool(plan.domains) and load_domain(plan.domains[0]).grounding_prompt(
        answerer.prompt).reasoning
    count = len(plan.items)
    characters = sum(len(sample.question.text) for sample in plan.items
                     if sample.question is not None) / count
    pictures = len(plan.clusters) / count if answerer.sees_pictures else 0.0
    seconds = REQUEST_S if reasons else QUESTION_S.get(settings.backend, _OTHER_QUESTION_S)
    if not traits_of(backend_class(settings.backend)).pixels:
        return Figures(1.0, seconds=QUESTION_S.get(settings.backend, _OTHER_QUESTION_S))
    return _priced(plan, 1.0, characters / 4 + pictures * IMAGE_TOKENS,
                   REASONS_TOKENS if reasons else ANSWER_TOKENS, seconds)


def _guess(plan: EpisodePlan, split: str, problem: Problem) -> Figures:
    settings, domain = plan.settings, plan.domain
    steps = problem.optimal_length or budget(settings, plan.suite, domain.name, split) / 2
    seconds = EPISODE_S
    if not needs_model(settings.method):
        return Figures(seconds=seconds)
    prompt = prompt_name(settings.method, settings.method_options)
    sees = traits_of(backend_class(settings.backend)).pixels
    if needs_visual_planner(settings.method):
        words = domain.planning_prompt(prompt, problem)
        requests, questions = steps + 1, 0.0
        characters = len(words.system) + len(words.before_image) + len(words.after_image)
        completion = PLAN_TOKENS + (REASONS_TOKENS if words.reasoning else 0)
        seconds += requests * REQUEST_S
    else:
        requests = questions = (len(domain.worth_asking(problem)) * ENUMERATIONS
                                + steps * CHECKS_PER_STEP)
        around = domain.grounding_prompt(prompt) if prompt else None
        text = domain.question(domain.worth_asking(problem)[0]).text
        characters = len(text) if around is None else sum(map(len, (
            around.system, around.before_image, around.after_image, around.ask(text))))
        reasons = asks_for_reasons(settings.method, settings.domain)
        completion = REASONS_TOKENS if reasons else ANSWER_TOKENS
        each_s = QUESTION_S.get(settings.backend, _OTHER_QUESTION_S)
        if around is not None and around.reading and can_ask(
                backend_class(settings.backend), Generate):
            requests, completion = ENUMERATIONS + CHECKS_PER_STEP * steps, PLAN_TOKENS
            each_s = REQUEST_S * requests / questions
        seconds += questions * each_s + (questions * REQUEST_S if reasons and sees else 0.0)
    if not sees and needs_grounder(settings.method):  # no model: nothing goes in or out
        return Figures(questions, seconds=seconds)
    return _priced(plan, questions, requests * (characters / 4 + IMAGE_TOKENS),
                   requests * completion, seconds)


def _priced(plan: EpisodePlan | SamplePlan, questions: float, prompt_tokens: float,
            completion_tokens: float, seconds: float) -> Figures:
    backend = backend_settings(plan.settings.backend, plan.model_options() or {})
    price_in, price_out = (getattr(backend, name, 0.0) for name in ('price_in', 'price_out'))
    cost = (prompt_tokens * price_in + completion_tokens * price_out) / 1e6
    return Figures(questions, prompt_tokens, completion_tokens,
                   cost if price_in or price_out else None, seconds)
