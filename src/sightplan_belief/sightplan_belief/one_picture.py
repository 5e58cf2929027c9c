"""Questions about one picture: a model's answers, and the state that they make probable.

Example::

    seen = ask('table.png', domain='blocksworld', objects={'red': 'block', 'c1': 'column'})
    for question, answer in zip(seen.questions, seen.answers):
        print(question.text, answer.verdict.value, answer.p_yes)
    print(seen.estimate.state, seen.estimate.marginals)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain, load_domain
from sightplan.grounding import BackendGrounder, meaning_of, why_unable
from sightplan.model import (
    Answer,
    InputError,
    Observation,
    Problem,
    Question,
    Verdict,
    did_you_mean,
    user_path,
)
from sightplan.model.picture_files import checked_rgb, read_image
from sightplan.model.query import ask_one, can_ask, traits_of
from sightplan.queries import Generate, YesNo
from sightplan.vlm.api import (
    backend_class,
    backend_reads_prompt,
    check_backend,
    make_checked_backend,
    resolved_options,
)
from sightplan_belief.estimator import (
    MOST_LISTED,
    Estimate,
    Estimator,
    EstimatorSettings,
    evidence_of,
)
from sightplan_belief.observation_model import read_observation_model
from sightplan_belief.priors import known_rates

_MOST_EXAMPLES = 20
"""Most questions among which one is looked for as an example; from all that may be asked."""
_SURE = 0.9
"""Least probability of "yes" of an example."""
PROMPT = 'ground'
"""Prompt around the questions, for models that read one."""


class FreeAnswer(NamedTuple):
    """A model's answer to a question in words.

    Attributes:
        model: exact name of the model.
        answer: its answer.
        read_as: the question of the model's domain that the words were read as; '' for a model
            that reads any words.
    """

    model: str
    answer: Answer
    read_as: str = ''


@dataclass(frozen=True, eq=False)
class Seen:
    """A model's answers about a picture, and the estimate made of them.

    Attributes:
        image: the picture, (H, W, 3) uint8 RGB.
        model: exact name of the model that answered.
        questions: what was asked, in order.
        answers: one per question.
        estimate: the most probable state and the probability of each atom.
    """

    image: NDArray[np.uint8]
    model: str
    questions: tuple[Question, ...]
    answers: tuple[Answer, ...]
    estimate: Estimate

    @property
    def cannot_tell(self) -> str:
        """Why the model can tell nothing of the picture; '' if it can, or does not say why."""
        reasons = {answer.reason for answer in self.answers}
        return reasons.pop() if len(reasons) == 1 else ''

    def notable(self, above: float = 0.01) -> list[tuple[Question, Answer]]:
        """Questions and answers, the most probable first.

        Args:
            above: what is denied is left out unless its belief is larger; negative: nothing is.
        """
        believed, marginals = self.estimate.state, self.estimate.marginals
        return sorted(((question, answer) for question, answer
                       in zip(self.questions, self.answers, strict=True)
                       if answer.verdict is not Verdict.NO or marginals[question.atom] > above),
                      key=lambda pair: pair[0].atom not in believed)


def ask(picture: str | Path | NDArray[np.uint8], domain: str | Domain | None = None, *,
        objects: Mapping[str, str] | None = None, problem: str | Path | None = None,
        backend: str = 'embedded', backend_options: Mapping[str, Any] | None = None,
        calibration: str | Path | None = None, prompt: str = PROMPT) -> Seen:
    """Ask a model everything that a domain knows to ask about a picture, and weigh its answers.

    Args:
        picture: a file, or (H, W, 3) uint8 RGB.
        domain: name or folder of the domain; None: the first installed one whose problem file
            ``problem`` is.
        objects: names of the objects in the picture, and their types.
        problem: file of a problem whose objects they are; its initial state is not read.
        backend: name of the backend.
        backend_options: its settings.
        calibration: file of ``sightplan calibrate``; None: what the domain has of the model,
            else its priors, else generic rates.
        prompt: name of the prompt around the questions, for models that read one.

    Raises:
        InputError: an argument or file cannot be used; names it and the remedy.
        BackendError: the model could not be loaded, or could not answer.
    """
    image = _image(picture)
    loaded = domain if isinstance(domain, Domain) else load_domain(_domain(domain, problem))
    scene = _scene(loaded, objects, problem)
    _check_backend(backend)
    check_backend(backend, YesNo)
    words = loaded.grounding_prompt(prompt, problem=scene)
    model = None if calibration is None else read_observation_model(user_path(str(calibration)))
    options = resolved_options(backend, backend_options or {}, 0, words.reasoning, loaded)
    grounder = BackendGrounder(make_checked_backend(backend, options))
    prompt_id = loaded.prompt_id(prompt) if backend_reads_prompt(backend) else ''
    if model is not None:
        model.check(grounder.model, loaded, prompt_id)
    else:
        model = known_rates(loaded, grounder.model, prompt_id)
    estimator = Estimator(loaded, scene, observation_model=model,
                          settings=EstimatorSettings(limit=MOST_LISTED))
    questions = tuple(loaded.question(atom) for atom in loaded.worth_asking(scene))
    observation = Observation(image)
    answers = grounder.ground(observation, questions, prompt=words)
    estimate = estimator.estimate(evidence_of(
        {question.atom: answer for question, answer in zip(questions, answers, strict=True)},
        observation.image_id))
    return Seen(image, grounder.model, questions, tuple(answers), estimate)


def ask_freely(picture: str | Path | NDArray[np.uint8], question: str, *, domain: str = '',
               backend: str = 'embedded', backend_options: Mapping[str, Any] | None = None,
               ) -> FreeAnswer:
    """Ask one question in words of one's own.

    A model that can write answers in free text, another one with yes or no.

    Args:
        picture: a file, or (H, W, 3) uint8 RGB.
        question: what is asked.
        domain: name or folder of the domain, for a backend that has a model for each.
        backend: name of the backend.
        backend_options: its settings.

    Returns:
        Exact name of the model, its answer, whose ``text`` is the reply and whose ``verdict``
        and probabilities say yes or no, as far as they can be told (else ``reason`` says why not),
        and what the question was read as.

    Raises:
        InputError: an argument or the file cannot be used, or the model was made for the questions
            of one domain and this is none of them; names it and the remedy.
        BackendError: the model could not be loaded, or could not answer.
    """
    image = _image(picture)
    _check_backend(backend)
    if not can_ask(backend_class(backend), Generate):
        check_backend(backend, YesNo)
    made = make_checked_backend(backend, resolved_options(
        backend, backend_options or {}, 0, domain=load_domain(domain) if domain else None))
    if can_ask(made, Generate):
        return FreeAnswer(made.name, Answer(ask_one(made, Generate('', (image, question))).text))
    grounder, asked = BackendGrounder(made), Question.of_words(question)
    if why := why_unable(made, asked):
        raise InputError(why + _example(grounder, image))
    meaning = meaning_of(made, asked)
    answer, = grounder.ground(Observation(image), [asked])
    return FreeAnswer(made.name, answer, '' if meaning is None else str(meaning))


def _example(grounder: BackendGrounder, image: NDArray[np.uint8]) -> str:
    """A question of the model's domain about what the picture shows, as the end of a sentence."""
    domain = load_domain(traits_of(grounder).domain)
    questions = [domain.question(atom) for problem in domain.split_problems(domain.splits[0])[:1]
                 for atom in domain.worth_asking(problem)]
    questions = questions[::-(-len(questions) // _MOST_EXAMPLES)] if questions else []
    answers = grounder.ground(Observation(image), questions) if questions else []
    likely = [question.text for question, answer in zip(questions, answers, strict=True)
              if answer.verdict is Verdict.YES and (answer.p_yes or 0.0) >= _SURE]
    return f'. Of this picture, for example: {likely[0]!r}' if likely else ''


def _image(picture: str | Path | NDArray[np.uint8]) -> NDArray[np.uint8]:
    return (checked_rgb(picture) if isinstance(picture, np.ndarray)
            else read_image(user_path(str(picture))))


def _check_backend(backend: str) -> None:
    if traits_of(backend_class(backend)).truth:
        raise InputError(f'backend {backend!r} answers from the truth, which is not known of a '
                         'picture; choose one that looks at it')


def _domain(name: str | None, problem: str | Path | None) -> str:
    """Name of the domain: the one that is given, else the one that the problem's file names."""
    from sightplan.domains import domain_names
    from sightplan.domains.problem_files import named_domain, read_text
    from sightplan.model import ProblemError
    if name is not None:
        return name
    named = '' if problem is None else named_domain(
        read_text(user_path(str(problem)), ProblemError))
    if named not in domain_names():
        raise InputError(f'which domain? Name one of {", ".join(domain_names())}, or its folder'
                         + (f' ({problem} is of {named or "none"})' if problem else ''))
    return named


def _scene(domain: Domain, objects: Mapping[str, str] | None,
           problem: str | Path | None) -> Problem:
    """The objects in the picture, as a problem without initial state and goal."""
    if problem is not None:
        if objects:
            raise InputError('objects and problem both say which objects there are; give one')
        return domain.read_problem(user_path(str(problem))).for_agent()
    kinds = tuple(domain.schema.types)
    if not objects:
        raise InputError('which objects are in the picture? Name them with their types (such as '
                         f'NAME:{kinds[-1] if kinds else "object"}; types of {domain.name}: '
                         f'{", ".join(kinds) or "object"}), or give a problem file')
    for name, kind in objects.items():
        if kind not in kinds and kind != 'object':
            raise InputError(f'object {name}:{kind}: domain {domain.name} has no type {kind!r} '
                             f'(it has {", ".join(kinds)}){did_you_mean(kind, kinds)}')
    text = ' '.join(f'{name} - {kind}' for name, kind in objects.items())
    return domain.parse_problem(
        f'(define (problem picture) (:domain {domain.schema.name}) (:objects {text}) '
        f'(:init) (:goal (and)))', 'picture', 'the objects').for_agent()
