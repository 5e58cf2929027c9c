"""Belief over a task's wishes: which descriptors of a path should be large or small.

A vector of preferences (``paths.labels``) has -1, 0 or 1 for each of seven descriptors. A task in
words leaves it open; a model is asked two yes/no questions about each descriptor, in several
wordings: is more of it better, is less of it better? No picture is shown. The answers are
evidence, and what is believed is a probability of less, neither and more for each descriptor,
independent of the others.

The observation model: "yes" comes with probability ``yes_true`` where it is right and
``yes_false`` where it is wrong. Where a backend offers probabilities, an answer of yes with
probability p counts as p of a yes and 1 - p of a no, so that no answer says more than a plain one.
"unknown" and what cannot be read say nothing. Of n readable answers to the wordings of one
question each counts for 1 / (1 + (n - 1) together): a model that misreads a task does so in other
words, too.

The questions stand in ``path_questions.yaml``.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.grounding.backend_grounder import BackendGrounder
from sightplan.model import (
    Answer,
    Atom,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    check_settings,
    param,
)
from sightplan.model.query import Model, ModelByKind, ask_one, can_ask, traits_of
from sightplan.model.reading import Record, read_file
from sightplan.queries.choose import Choose
from sightplan.queries.generate import Generate
from sightplan.vlm.api import answers_texts, backend_class, usable_backends
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.labels import ORDER, Vector, check_vector
from sightplan_suites.paths.limits import NO_LIMITS, PathLimits
from sightplan_suites.paths.sentences import (
    UnreadSentenceError,
    named_in,
    read_sentence,
    taken_words,
)

SIGNS = (-1, 0, 1)
"""Less is better, it does not matter, more is better."""

MORE, LESS = 'more_is_better', 'less_is_better'
"""Predicates of the questions, about a descriptor and the number of a wording."""

_QUESTIONS = Path(__file__).with_name('path_questions.yaml')


class _Phrases(Record):
    more: str
    less: str


class _Questions(Record):
    system: str
    before: str
    after: str
    question: str
    wordings: tuple[str, ...]
    descriptors: dict[str, _Phrases]


@functools.cache
def _questions() -> _Questions:
    return read_file(_Questions, _QUESTIONS)


@dataclass(frozen=True, slots=True)
class WishSettings:
    """Settings of the questions and of the weight of their answers."""

    wordings: int = param(3, 'wordings of each question that are asked', low=1, high=3)
    matters: float = param(0.5, 'prior probability that a descriptor matters; more and less '
                           'are equally likely', low=0.01, high=0.99)
    yes_true: float = param(0.9, 'P(yes | yes is right)', low=0.01, high=0.99)
    yes_false: float = param(0.1, 'P(yes | no is right)', low=0.01, high=0.99)
    together: float = param(0.3, 'correlation of errors in several wordings of a question; '
                            '1: more wordings add nothing', low=0.0, high=1.0)


@dataclass(frozen=True, slots=True)
class Wish:
    """Belief about one descriptor; the three probabilities sum to 1.

    Attributes:
        name: of the descriptor.
        less: probability that less of it is better.
        neither: that it does not matter.
        more: that more of it is better.
    """

    name: str
    less: float
    neither: float
    more: float

    @property
    def probabilities(self) -> tuple[float, float, float]:
        """The three probabilities in the order of ``SIGNS``."""
        return self.less, self.neither, self.more

    @property
    def sign(self) -> int:
        """The most probable one of ``SIGNS``; of equally probable ones 0, else the smaller one."""
        return max((0, -1, 1), key=lambda sign: self.probabilities[SIGNS.index(sign)])

    @property
    def sure(self) -> float:
        """Probability of ``sign``."""
        return max(self.probabilities)


@dataclass(frozen=True, slots=True)
class Wishes:
    """Beliefs about all descriptors of a task.

    Attributes:
        wishes: one of each, in the order of vectors (``paths.labels.ORDER``).
        answers: what was asked and answered; () for a vector that was given.
        model: who answered; '' for nobody.
    """

    wishes: tuple[Wish, ...]
    answers: tuple[tuple[Question, Answer], ...] = ()
    model: str = ''

    def __post_init__(self) -> None:
        """Check that there is one wish of each descriptor, in order.

        Raises:
            InputError: not one wish of each descriptor in order.
        """
        names = tuple(wish.name for wish in self.wishes)
        if names != ORDER:
            raise InputError(f'wishes about {", ".join(names) or "nothing"} (give one of each: '
                             f'{", ".join(ORDER)}, in this order)')

    @property
    def vector(self) -> Vector:
        """The most probable vector."""
        return tuple(wish.sign for wish in self.wishes)

    @property
    def probability(self) -> float:
        """Probability of the most probable vector."""
        return math.prod(wish.sure for wish in self.wishes)

    def vectors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All vectors that are possible, (N, 7), and their probabilities, (N,); N up to 3^7."""
        possible = [[(sign, chance) for sign, chance in zip(
            SIGNS, wish.probabilities, strict=True) if chance > 0] for wish in self.wishes]
        vectors = np.array(list(itertools.product(*([sign for sign, _ in item]
                                                    for item in possible))), dtype=np.float64)
        chances = np.array([math.prod(item) for item in itertools.product(
            *([chance for _, chance in item] for item in possible))])
        return vectors, chances / chances.sum()


def certain(vector: Vector) -> Wishes:
    """A vector as it was given, without doubt.

    Raises:
        InputError: it does not hold seven of -1, 0 and 1, or only zeros.
    """
    check_vector(tuple(vector), 'vector')
    return Wishes(tuple(Wish(name, float(sign == -1), float(sign == 0), float(sign == 1))
                        for name, sign in zip(ORDER, vector, strict=True)))


def indifferent() -> Wishes:
    """Wishes of somebody to whom every path is as good as another: limits alone decide."""
    return Wishes(tuple(Wish(name, 0.0, 1.0, 0.0) for name in ORDER))


def wish_questions(settings: WishSettings) -> tuple[Question, ...]:
    """All questions: for each wording, descriptor and direction.

    Their atoms are ``more_is_better(path_length, 0)`` and so on, the last being the number of the
    wording.

    Raises:
        InputError: a setting is out of bounds.
    """
    check_settings(settings)
    texts = _questions()
    found = []
    for number, wording in enumerate(texts.wordings[:settings.wordings]):
        for name in ORDER:
            phrases = texts.descriptors[name]
            for predicate, this, other in ((MORE, phrases.more, phrases.less),
                                           (LESS, phrases.less, phrases.more)):
                found.append(Question(Atom(predicate, (name, str(number))),
                                      wording.format(this=this, other=other)))
    return tuple(found)


def wish_prompt() -> GroundingPrompt:
    """The words around the questions; the task stands where else a picture does."""
    texts = _questions()
    digest = hashlib.sha256(_QUESTIONS.read_bytes()).hexdigest()[:12]
    return GroundingPrompt('path_wishes', texts.system, texts.before, texts.after,
                           texts.question, sha256=digest)


def understood_wishes(answers: Iterable[tuple[Question, Answer]], settings: WishSettings,
                      model: str = '') -> Wishes:
    """The belief that follows from answers.

    Args:
        answers: to ``wish_questions``, all or some.
        settings: prior, rates, and how far wordings count.
        model: who answered.
    """
    check_settings(settings)
    answers = tuple(answers)
    evidence: dict[tuple[str, str], list[float]] = {}
    for question, answer in answers:
        yes = _yes(answer)
        if yes is not None:
            key = question.atom.predicate, question.atom.args[0]
            evidence.setdefault(key, []).append(yes)
    ratios = {key: _log_ratio(found, settings) for key, found in evidence.items()}
    return Wishes(tuple(_wish(name, ratios, settings) for name in ORDER), answers, model)


def _yes(answer: Answer) -> float | None:
    """Weight of a yes in an answer, 0 to 1; None if the answer says neither."""
    if answer.yes_probability is not None:
        return answer.yes_probability
    return None if answer.verdict.says is None else float(answer.verdict.says)


def _log_ratio(answers: Sequence[float], settings: WishSettings) -> float:
    """Log-likelihood ratio of "yes is right" to "no is right" of the answers to one question."""
    right, wrong = settings.yes_true, settings.yes_false
    total = sum(math.log((yes * right + (1 - yes) * (1 - right))
                         / (yes * wrong + (1 - yes) * (1 - wrong))) for yes in answers)
    return total / (1 + (len(answers) - 1) * settings.together)


def _wish(name: str, ratios: Mapping[tuple[str, str], float], settings: WishSettings) -> Wish:
    side = settings.matters / 2
    weights = (side * math.exp(ratios.get((LESS, name), 0.0)), 1 - settings.matters,
               side * math.exp(ratios.get((MORE, name), 0.0)))
    return Wish(name, *(weight / sum(weights) for weight in weights))


@dataclass(frozen=True, slots=True)
class Task:
    """Wishes and limits that a task in words is taken to mean.

    Attributes:
        wishes: belief about the descriptors.
        limits: that were read from the words, areas called as they are given.
        taken: all of it in words.
    """

    wishes: Wishes
    limits: PathLimits = NO_LIMITS
    taken: str = ''


def understand_task(model: Model | None, scenario: str, areas: Sequence[Area] = (),
                    settings: WishSettings | None = None, timeout_s: float | None = None) -> Task:
    """Read a task in words: by a model, or by the reader (``sentences``) where none can.

    A model is asked for the wishes alone; limits are what the reader finds, if it understands the
    whole task. If it does not, ``taken`` says so.

    Args:
        model: to be asked, if it reads texts; None: nobody.
        scenario: the task in words.
        areas: that it may name.
        settings: as ``understand``.
        timeout_s: as ``understand``.

    Raises:
        InputError: the task is empty, names an area that there is not, or the reader does not
            understand it.
        BackendError, DeadlineError, SpendingCapError: as ``understand``.
    """
    if not scenario.strip():
        raise InputError('scenario: is empty (say the task in words, or give a vector)')
    if model is None or not can_read_tasks(model):
        reading = read_sentence(scenario)
        limits = named_in(reading, areas)
        wishes = certain(reading.vector) if reading.wants else indifferent()
        return Task(wishes, limits, taken_words(reading.wants, limits, reading))
    limits, unread = NO_LIMITS, ''
    try:
        limits = named_in(read_sentence(scenario), areas)
    except UnreadSentenceError:
        unread = ' No limit, place or side was read of the task (give them as options).'
    wishes = understand(model, scenario, settings, timeout_s)
    wants = dict(zip(ORDER, wishes.vector, strict=True))
    return Task(wishes, limits, taken_words(wants, limits) + unread)


class NoModel(ModelByKind):
    """Stands in for a model where the reader reads tasks; it answers no query."""

    name = ''


def compares_paths(backend: str) -> bool:
    """Whether a backend, by its name, is of use to compare paths for a task.

    Any that does not answer from the truth is, if it reads tasks or compares pictures; beside one
    that only compares pictures, tasks are read by the reader.
    """
    model = backend_class(backend)
    return not traits_of(model).truth and (can_read_tasks(model) or can_ask(model, Choose))


def check_path_backend(backend: str) -> None:
    """Check that a backend is of use to compare paths.

    Raises:
        InputError: it is not; names those that are.
    """
    if not compares_paths(backend):
        able = ', '.join(name for name in usable_backends() if compares_paths(name))
        raise InputError(f'backend {backend!r} can neither tell what a task in words wants, nor '
                         f'compare pictures; choose one that can: {able}')


def can_read_tasks(model: object) -> bool:
    """Whether a model, or its class, can be asked about a task in words, without a picture."""
    return answers_texts(model) or can_ask(model, Generate)


def understand(model: Model, scenario: str, settings: WishSettings | None = None,
               timeout_s: float | None = None) -> Wishes:
    """Ask a model for the wishes of a task.

    A model that takes yes/no questions about a text (``Traits.texts``) is asked all of them at
    once; any other must reply in free text, and is asked one after the other.

    Args:
        model: to be asked.
        scenario: the task in words.
        settings: how much is asked, and what answers are worth.
        timeout_s: wall-clock limit of all questions together [s]; None for the model's own.

    Raises:
        InputError: the task is empty, or the model looks at pictures only.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    settings = settings or WishSettings()
    if not scenario.strip():
        raise InputError('scenario: is empty (say the task in words, or give a vector)')
    questions, prompt = wish_questions(settings), wish_prompt()
    if answers_texts(model):
        answers = BackendGrounder(model).ground(
            Observation(text=scenario.strip()), questions, timeout_s, prompt)
    elif can_ask(model, Generate):
        answers = _asked_in_words(model, scenario.strip(), questions, prompt, timeout_s)
    else:
        raise InputError(f'model {model.name} answers questions about pictures only, it cannot '
                         'tell what a task in words wants; give a vector, or choose a backend '
                         'that reads text')
    return understood_wishes(zip(questions, answers, strict=True), settings, model.name)


def _asked_in_words(model: Model, scenario: str, questions: Sequence[Question],
                    prompt: GroundingPrompt, timeout_s: float | None) -> list[Answer]:
    """Ask one question after the other in free text, and read the replies."""
    begin, answers = time.monotonic(), []
    for number, question in enumerate(questions):
        left = None if timeout_s is None else timeout_s - (time.monotonic() - begin)
        if left is not None and left <= 0:
            raise DeadlineError(f'{model.name}: {number} of {len(questions)} questions about '
                                f'the task took longer than {timeout_s:g} s (raise the limit, or '
                                'ask in fewer wordings)')
        parts = (prompt.before_image, scenario, prompt.after_image, prompt.ask(question.text))
        answers.append(Answer(
            ask_one(model, Generate(prompt.system, parts, prompt.max_tokens), left).text))
    return answers
