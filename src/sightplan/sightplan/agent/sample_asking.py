"""Functions that put samples to a model, over the tools of a method (``Context.asking``).

The suite's words around a sample, and how it reads a reply, come with the sample
(``Sample.task``).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from sightplan.agent.asking import ask_questions, detect_instances
from sightplan.agent.context import Context
from sightplan.domains import load_domain
from sightplan.domains.prompts import prompt_without_domain
from sightplan.grounding import why_unable
from sightplan.grounding.instructions import Stage, UnresolvedError, propose_goal
from sightplan.model import (
    Answer,
    CancelledError,
    GroundingPrompt,
    InputError,
    Instance,
    Observation,
    Question,
    SightplanError,
    plugins,
)
from sightplan.model.pointer_settings import PRIOR_IN_SUITES, PointerSettings
from sightplan.model.query import Part, ask_one, can_ask
from sightplan.model.region import Presence, Region
from sightplan.model.sample import Picture, Sample, SampleReply, SampleTask
from sightplan.model.sealing import Sealed
from sightplan.queries import ChoiceReply, Choose, Generate
from sightplan.queries.choose import compare
from sightplan.queries.marks import numbered

_GREY = np.full((480, 480, 3), 128, np.uint8)
"""The grey picture that a blind method shows to a model that replies to pictures only."""
_ONCE = PointerSettings(max_askings=1, prior_present=PRIOR_IN_SUITES)
"""The model is taken at its word about a place."""


def failed(error: SightplanError) -> SampleReply:
    """An empty reply that carries the error because of which a sample has no reply."""
    return SampleReply(error=f'{type(error).__name__}: {error}',
                       stopped=isinstance(error, CancelledError))


def each(samples: Sequence[Sample], reply: Callable[[Sample], SampleReply]) -> list[SampleReply]:
    """Reply to samples one after another; a sample that fails leaves the others unaffected.

    Args:
        samples: to be replied to, in order.
        reply: replies to one; what it raises becomes the ``error`` of the sample's reply.

    Raises:
        InputError: the first one of ``reply``: the settings are wrong, for all samples.
    """
    def tried(sample: Sample) -> SampleReply:
        try:
            return reply(sample)
        except InputError:
            raise
        except SightplanError as error:
            return failed(error)
    return [tried(sample) for sample in samples]


def ask_samples(context: Context, samples: Sequence[Sample], prompt: str, suite_prompt: str,
                ) -> list[SampleReply]:
    """Let the run's model reply to samples; samples about one picture are asked at once.

    Args:
        context: of the method.
        samples: with or without their pictures.
        prompt: name of the domain's prompt around yes/no questions, such as ``ground``.
        suite_prompt: name of the suite's prompt around all other samples, such as ``ask``.

    Returns:
        A reply to each; where the model could not answer, or not in time, or a limit on
        spending is reached, with an ``error``: it does not cost the others.

    Raises:
        InputError: the model cannot reply to such samples; the message says what can.
    """
    replies: list[SampleReply] = []
    for (yes_no, _), shown in itertools.groupby(samples, key=_shown):
        group = tuple(shown)
        replies += (_ask_questions(context, group, prompt) if yes_no else each(
            group, lambda sample: _ask_one(context, sample, prompt, suite_prompt)))
    return replies


def locate(context: Context, sample: Sample, settings: PointerSettings, backend: str = '',
           ) -> SampleReply:
    """Let a model find what a sample asks for, in several askings.

    Args:
        context: of the method.
        sample: one with a ``target``.
        settings: how long it is asked.
        backend: another model than the run's, see ``Context.asking``.

    Raises:
        InputError: the model cannot point; names those that can.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    target, picture = sample.target, _first_picture(sample)
    assert target is not None, 'only a sample that asks for a place is located'
    model = context.asking(sample, backend)
    pointing = plugins.part('locator', 'sightplan_belief').BackendLocator(model.backend, model)
    image = _GREY if picture is None else picture.load()
    for attempt in range(sample.tries if settings.max_askings == 1 else 1):
        found = pointing.locate(
            image, [target], settings,
            depth_m=picture.load_depth() if picture and picture.load_depth else None,
            camera=picture.camera if picture else None, start=sample.start,
            timeout_s=model.timeout_s, wording=sample.wording, attempt=attempt)[0]
        if found.regions or (not found.unread and sample.wording.presence is Presence.OPEN):
            break
    return SampleReply(found.text, regions=found.regions, probability=found.probability,
                       unread=found.unread, unknown=found.unknown)


def instances_in(context: Context, sample: Sample, looks: int, backend: str = '',
                 ) -> tuple[Instance, ...]:
    """Let a model find all things in a sample's picture, and tell them apart.

    Args:
        context: of the method.
        sample: one with a picture.
        looks: how often it looks, each time at another view of the picture.
        backend: another model than the run's, see ``Context.asking``.

    Raises:
        UnresolvedError: nothing can be told of the picture; says why.
        InputError: the sample has no picture, or the model cannot; names those that can.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    picture = _picture(sample)
    depth_m = picture.load_depth() if picture.load_depth else None
    seen = detect_instances(context, Observation(picture.load(), depth_m=depth_m), looks,
                            about=sample, backend=backend)
    if seen.unread:
        raise UnresolvedError(seen.unread)
    if seen.cannot_tell:
        raise UnresolvedError(f'it cannot tell what there is: {seen.cannot_tell}')
    return seen.instances


def goal_of(context: Context, sample: Sample, seen: Sequence[Instance], tries: int,
            ) -> tuple[Stage, ...]:
    """Let the run's model say what a sample's instruction wants of the things in its picture.

    Args:
        context: of the method.
        sample: one with a picture and an instruction.
        seen: the things, told apart.
        tries: how often it is asked at most.

    Returns:
        Its stages.

    Raises:
        InputError: no reply could be used, or the model writes no text; says why.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    _, stages = propose_goal(context.asking(sample), _picture(sample).load(), seen,
                             str(sample.details['instruction']), tries, any_kind=True)
    return stages


def compare_choices(context: Context, sample: Sample, orders: str, neutral: bool) -> SampleReply:
    """Let the run's model choose between two, such that its bias to a place or a name cancels.

    Args:
        context: of the method.
        sample: one with one choice.
        orders: ``both``, or ``one`` for the order in which it is.
        neutral: whether the two get names that mean nothing.

    Raises:
        InputError: the sample can be shown in one way only, or the model cannot choose.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    model = context.asking(sample)

    def query(first: int, second: int) -> Choose:
        return _choice(context, task_of(sample).shown(first > second, neutral), 0)
    found = compare(model, query, orders, model.timeout_s)
    chances = found.probability, 1 - found.probability
    if found.agreed is None and chances[0] == chances[1]:
        return SampleReply(found.replies[0].text, unread=next(
            (reply.unread or f'cannot tell: {reply.cannot_tell}' for reply in found.replies
             if reply.chosen is None), ''))
    return _chosen([ChoiceReply(chances, int(chances[1] > chances[0]))])


def marked(sample: Sample, boxes: Sequence[Region]) -> Sample:
    """Return the sample with its picture drawn over: box k of ``boxes`` has a frame numbered k."""
    def drawn(picture: Picture) -> Picture:
        return dataclasses.replace(picture, name=f'{picture.name} with marks', load=Sealed(
            lambda: numbered(picture.load(), boxes)))
    return dataclasses.replace(sample, parts=tuple(
        drawn(part) if isinstance(part, Picture) else part for part in sample.parts))


def in_words(sample: Sample) -> bool:
    """Whether a sample is a yes/no question in words, which belongs to no domain."""
    return sample.question is not None and sample.question.in_words


def asks_yes_no(sample: Sample) -> bool:
    """Whether a sample is a yes/no question about at most one picture."""
    pictures = sum(isinstance(part, Picture) for part in sample.parts)
    return (sample.question is not None and (in_words(sample) or bool(sample.domain))
            and pictures <= 1 and len(sample.parts) == pictures + 1)


def yes_no_prompt(name: str, domain: str) -> GroundingPrompt:
    """Return the prompt around yes/no questions of a domain, or without domain for ``''``.

    Raises:
        InputError: there is no such prompt.
    """
    return load_domain(domain).grounding_prompt(name) if domain else prompt_without_domain(name)


def task_of(sample: Sample) -> SampleTask:
    """Return what a sample's suite offers for the sample: its prompts and readers of replies.

    Raises:
        InputError: the sample was not handed to a method.
    """
    if sample.task is None:
        raise InputError('the sample is none that a method was handed')
    return sample.task


def _ask_one(context: Context, sample: Sample, prompt: str, suite_prompt: str) -> SampleReply:
    """Ask about a sample that is no yes/no question about one picture."""
    if sample.target is not None:
        return locate(context, sample, _ONCE)
    model = context.asking(sample)
    if not can_ask(model, Generate):
        if sample.questions:
            return _ask_parts(context, sample, prompt)
        if sample.choices and can_ask(model, Choose):
            return _chosen([ask_one(model, _choice(context, sample, number))
                            for number in range(len(sample.choices))])
    words = task_of(sample).prompt(suite_prompt)
    shown = [part for part in _loaded(sample)
             if not (words.pictures_only and isinstance(part, str))]
    parts = (words.before, *shown, words.after)
    return SampleReply(ask_one(model, Generate(
        words.system, tuple(part for part in parts if not isinstance(part, str) or part),
        words.max_tokens)).text)


def _ask_questions(context: Context, samples: Sequence[Sample], name: str) -> list[SampleReply]:
    """Yes/no questions about one picture, or about none."""
    prompt = yes_no_prompt(name, samples[0].domain)
    picture = _first_picture(samples[0])
    questions = [_question(sample) for sample in samples]
    model = context.asking(samples[0])
    if picture is None and can_ask(model, Generate) and not model.traits.truth:
        texts = {sample.id: (prompt.before_image, prompt.after_image, prompt.ask(question.text))
                 for sample, question in zip(samples, questions, strict=True)}
        return each(samples, lambda sample: SampleReply(ask_one(context.asking(sample), Generate(
            prompt.system, tuple(text for text in texts[sample.id] if text),
            prompt.max_tokens), model.timeout_s).text))
    if refused := {sample.id: why for sample in samples if in_words(sample)
                   and (why := why_unable(model, _question(sample)))}:
        able = [sample for sample in samples if sample.id not in refused]
        replies = iter(_ask_questions(context, able, name) if able else [])
        return [SampleReply(unread=refused[sample.id]) if sample.id in refused
                else next(replies) for sample in samples]
    missing = SampleReply()
    answers: Sequence[Answer | None]
    try:
        answers = ask_questions(model, _observed(picture), questions, prompt, keep_going=True)
    except InputError:
        raise
    except SightplanError as error:  # what was answered before it is paid for
        answers, missing = error.partial or [None] * len(samples), failed(error)
    return [missing if answer is None else SampleReply.of_answer(answer) for answer in answers]


def _ask_parts(context: Context, sample: Sample, name: str) -> SampleReply:
    """Return the answers to a sample's yes/no questions, or the first text if none is clear."""
    answers = ask_questions(
        context.asking(sample), _observed(_first_picture(sample)), sample.questions,
        yes_no_prompt(name, sample.domain))
    if any(answer.verdict.says is not None for answer in answers):
        return SampleReply(data=answers)
    first = answers[0]
    return SampleReply(first.text, unread=f'cannot tell: {first.reason}' if first.reason else '')


def _choice(context: Context, sample: Sample, number: int) -> Choose:
    choice, model = sample.choices[number], context.asking(sample)
    parts = _loaded(sample) if model.traits.pixels or can_ask(model, Generate) else ()
    return Choose(parts, choice.options, choice.subjects, choice.properties)


def _chosen(replies: Sequence[ChoiceReply]) -> SampleReply:
    """Return the reply with the choices; if nothing was chosen, with the model's text."""
    chances = replies[0].probabilities if len(replies) == 1 else None
    probability = None if chances is None else max(chances)
    if all(reply.chosen is None for reply in replies):
        why = next((reply.cannot_tell for reply in replies if reply.cannot_tell), '')
        return SampleReply(replies[0].text or f'cannot tell: {why}' if why else replies[0].text,
                           probability=probability)
    return SampleReply(data=replies, probability=probability)


def _loaded(sample: Sample) -> tuple[Part, ...]:
    return tuple(part if isinstance(part, str) else part.load() for part in sample.parts)


def _observed(picture: Picture | None) -> Observation:
    return Observation(_GREY if picture is None else picture.load())


def _first_picture(sample: Sample) -> Picture | None:
    return next((part for part in sample.parts if isinstance(part, Picture)), None)


def _picture(sample: Sample) -> Picture:
    """Return the picture in which instances are detected, the sample's first one.

    Raises:
        InputError: the sample has no picture.
    """
    picture = _first_picture(sample)
    if picture is None:
        raise InputError('the sample has no picture in which to tell things apart')
    return picture


def _shown(sample: Sample) -> tuple[bool, str]:
    """Whether a sample is a yes/no question about at most one picture; and which."""
    picture = _first_picture(sample)
    return asks_yes_no(sample), '' if picture is None else picture.name


def _question(sample: Sample) -> Question:
    assert sample.question is not None, 'only yes/no questions are asked as such'
    return sample.question
