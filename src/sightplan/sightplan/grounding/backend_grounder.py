"""A model whose answers to yes/no questions are read, and which tells things apart.

A model that replies in free text can be asked for all that a picture shows at once, where the
prompt says so (``GroundingPrompt.reading``): then the domain's module ``readings`` reads its
reply, by a function ``read_scene(text, atoms, truncated)`` that says which of the atoms hold, or
None if the reply cannot be read. A model that only answers yes/no questions is asked these.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from sightplan.domains import Domain, load_domain
from sightplan.domains.paraphrases import Meaning
from sightplan.grounding.instructions import (
    UnreadError,
    UnresolvedError,
    instances_of,
    propose_goal,
)
from sightplan.grounding.instructions.existence import described, with_checks
from sightplan.model import (
    BARE,
    Answer,
    Atom,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    SeenThings,
    SightplanError,
    Target,
    Verdict,
)
from sightplan.model.query import (
    Deadline,
    Model,
    Part,
    Query,
    Reply,
    ask_all,
    ask_in_batches,
    ask_one,
    can_ask,
    part_name,
    traits_of,
)
from sightplan.model.yes_no_text import Parser, parse_yes_no, probabilities_apply, says_unknown
from sightplan.queries import (
    Check,
    Detect,
    DetectInstances,
    Generate,
    TextReply,
    YesNo,
    yes_no_queries,
)
from sightplan.vlm.api import backend_class, backends_that_answer, check_backend
from sightplan.vlm.wrapping import Kind, Wrapper


class BackendGrounder(Wrapper):
    """A model whose answers to yes/no questions are read as the run's settings say.

    All questions about one observation go to the model in one batch. Answers have the model's
    probabilities, or none if it gave none. One reply about a whole picture serves all consecutive
    questions about it.
    """

    def __init__(self, model: Model, parse: Parser = parse_yes_no) -> None:
        """Wrap a model.

        Args:
            model: see ``sightplan.vlm.api.make_backend``.
            parse: reads replies.
        """
        super().__init__(model)
        self._parse = parse
        self._last: tuple[object, TextReply] | None = None

    @property
    def accepts(self) -> frozenset[Kind]:
        """Kinds that the model answers, and ``DetectInstances`` if it can ``Detect``."""
        more = frozenset({DetectInstances} if can_ask(self.inner, Detect) else ())
        return self.inner.accepts | more

    @property
    def model(self) -> str:
        """Exact name and version of the model that answers."""
        return self.inner.name

    def part_name(self, kind: Kind) -> str:
        """Exact name of what answers a kind; contract in ``HasParts``."""
        return super().part_name(Detect if kind is DetectInstances else kind)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Forget what was read, and tell the model; contract in the base class."""
        self._last = None
        super().start_episode(episode_id, split)

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the model; contract in ``Model``, but for the replies to yes/no questions."""
        if not any(isinstance(query, YesNo | DetectInstances) for query in queries):
            return self.inner.ask(queries, deadline)
        return ask_in_batches(queries, lambda batch: self._ask_batch(batch, deadline))

    def _ask_batch(self, batch: Sequence[Query[Any]], deadline: Deadline) -> Sequence[Reply]:
        match batch[0]:
            case YesNo() as first:
                return self._ask_yes_no(first.observation, [
                    query.question for query in batch if isinstance(query, YesNo)],
                    deadline, first.prompt)
            case DetectInstances() as query:
                return [self.tell_apart(query.observation, query.looks, deadline.timeout_s,
                                        query.instruction, query.tries, query.checks)]
        return self.inner.ask(batch, deadline)

    def ground(self, observation: Observation, questions: Sequence[Question],
               timeout_s: float | None = None,
               prompt: GroundingPrompt | None = None) -> list[Answer]:
        """Answer all questions about one image, in order, in one batch.

        Args:
            observation: the observation that is shown to the model.
            questions: the questions, in order.
            timeout_s: wall-clock limit [s]; None for the model's own.
            prompt: the words around the questions; None: the bare questions.

        Raises:
            BackendError: the model failed, or broke its contract (wrong number of replies, a
                probability outside [0, 1]).
            DeadlineError: no reply within timeout_s.
            SightplanError: any of these; ``partial`` has the answers that came before.
            InputError: the prompt is for a reply about the whole picture, and the domain has
                nothing that reads it, or there is nothing to be seen; or the model was made for
                the questions of one domain, and a question is none of them.
        """
        return self._ask_yes_no(observation, questions, Deadline(timeout_s), prompt or BARE)

    def _ask_yes_no(self, observation: Observation, questions: Sequence[Question],
                    deadline: Deadline, prompt: GroundingPrompt) -> list[Answer]:
        """Return the answers to questions about one image; raises as ``ground`` does."""
        if not questions:
            return []
        refused = [why_unable(self, question) for question in questions]
        if any(refused):
            raise self._refusal(observation, questions, refused, deadline, prompt)
        if prompt.reading and can_ask(self.inner, Generate):
            return self._read_scene(observation, questions, deadline.timeout_s, prompt)
        meant = [meaning_of(self, question) for question in questions]
        asked = [question if one is None else dataclasses.replace(question, text=one.text)
                 for question, one in zip(questions, meant, strict=True)]
        try:
            replies = ask_all(self.inner, yes_no_queries(observation, asked, prompt), deadline)
        except SightplanError as error:
            try:
                error.partial = self._read_all(
                    observation, cast(list[Answer | None], error.partial), meant, deadline, prompt)
            except SightplanError as second:
                error.partial = second.partial
            raise
        return cast(list[Answer], self._read_all(observation, replies, meant, deadline, prompt))

    def _refusal(self, observation: Observation, questions: Sequence[Question],
                 refused: Sequence[str], deadline: Deadline, prompt: GroundingPrompt,
                 ) -> SightplanError:
        """Return the error of a request with questions that a model would answer at random.

        Args:
            observation: the image.
            questions: about it.
            refused: why each cannot be asked; '' where it can. With ``deadline.keep_going`` these
                are asked, and the error has their answers.
            deadline: of the request.
            prompt: the words around the questions.
        """
        failure: SightplanError = InputError(next(filter(None, refused)))
        able = [question for question, why in zip(questions, refused, strict=True) if not why]
        if not (deadline.keep_going and able):
            return failure
        try:
            answers: Sequence[Reply | None] = self._ask_yes_no(observation, able, deadline, prompt)
        except SightplanError as error:
            failure, answers = error, error.partial or [None] * len(able)
        failure.partial = in_places(answers, refused)
        return failure

    def _read_all(self, observation: Observation, replies: Sequence[Answer | None],
                  meant: Sequence[Meaning | None], deadline: Deadline, prompt: GroundingPrompt,
                  ) -> list[Answer | None]:
        """Return the answers that replies give; None where there is no reply.

        An opposite whose thing is not there cannot be told: the model says that a block that is
        nowhere is not clear, which does not mean that something is on it.

        Raises:
            SightplanError: the model could not say whether a thing is there; ``partial`` has the
                other answers.
        """
        failure: SightplanError | None = None
        found = [None if reply is None else self._read(reply, one)
                 for reply, one in zip(replies, meant, strict=False)]
        for at, (reply, one) in enumerate(zip(found, meant, strict=False)):
            if reply is None or one is None or reply.verdict is not Verdict.YES:
                continue
            try:
                missing = [thing for thing, texts in one.presence
                           if not self._is_there(observation, texts, deadline, prompt)]
            except SightplanError as error:
                failure, found[at] = failure or error, None
                continue
            if missing:
                found[at] = Answer.cannot_tell(f'{missing[0]} is not there')
        if failure is not None:
            failure.partial = found
            raise failure
        return found

    def _is_there(self, observation: Observation, texts: Sequence[str], deadline: Deadline,
                  prompt: GroundingPrompt) -> bool:
        """Whether the model answers one of the questions about where a thing is with yes."""
        asked = [Question.of_words(text) for text in texts]
        return any(self._read(reply).verdict is Verdict.YES for reply in ask_all(
            self.inner, yes_no_queries(observation, asked, prompt), deadline))

    def _read(self, reply: Answer, meaning: Meaning | None = None) -> Answer:
        """Return a model's answer with the verdict that this grounder's parser reads in its text.

        The probabilities stay as the model gave them, or are left out where they are about a first
        word that is not the answer ("No idea.").
        """
        if meaning is not None and meaning.opposite:
            reply = reply.opposite()
        verdict = (reply.verdict if self._parse is parse_yes_no else self._parse(reply.text))
        if reply.cut_at and verdict is Verdict.UNKNOWN and not says_unknown(reply.text):
            verdict = Verdict.UNPARSED  # what it was going to say is not known
        reason = reply.reason if verdict is Verdict.UNKNOWN else ''
        if not probabilities_apply(reply.text, verdict):
            return Answer(reply.text, cut_at=reply.cut_at, verdict=verdict, reason=reason)
        return dataclasses.replace(reply, verdict=verdict, reason=reason)

    def tell_apart(self, observation: Observation, looks: int = 1,
                   timeout_s: float | None = None, instruction: str = '',
                   tries: int = 1, checks: bool = False) -> SeenThings:
        """Find all things in a picture, and tell them apart.

        Args:
            observation: the picture, with depth where there is any.
            looks: number of looks of the model, each at another view of the picture.
            timeout_s: wall-clock limit of each request [s]; None for the model's own.
            instruction: what the model shall say the goal of, over the things; '' for nothing.
            tries: most times that the model is asked for the goal.
            checks: whether a model that can answer ``Check`` is asked about each marked thing.

        Raises:
            InputError: the model cannot (names those that can), or there is no picture.
            BackendError: the model could not answer.
            DeadlineError: no reply within timeout_s.
        """
        check_backend(self.model.partition('/')[0], Detect, self.inner)
        if observation.image is None:
            raise InputError('things are told apart in pictures; this observation has none')
        depth_m = observation.depth_m
        if depth_m is not None and depth_m.shape != observation.image.shape[:2]:
            depth_m = None
        if depth_m is not None:
            depth_m = np.nan_to_num(depth_m, nan=0.0, posinf=0.0, neginf=0.0)
        who = part_name(self.inner, Detect)
        try:
            replies = [ask_one(self.inner, Detect(observation.image, depth_m, attempt), timeout_s)
                       for attempt in range(looks)]
            if why := next((reply.cannot_tell for reply in replies if reply.cannot_tell), ''):
                return SeenThings(cannot_tell=why, model=who)
            seen = instances_of(replies)
            if checks and can_ask(self.inner, Check):
                seen = with_checks(seen, looks, [ask_one(self.inner, Check(
                    observation.image, Target(described(one)), one.region), timeout_s).verdict
                    for one in seen])
        except UnresolvedError as error:
            return SeenThings(unread=str(error), model=who)
        if not instruction:
            return SeenThings(seen, model=who)
        who = ' + '.join(dict.fromkeys((who, self.model)))
        try:
            goal, _ = propose_goal(self.inner, observation.image, seen, instruction, tries,
                                   timeout_s)
            return SeenThings(seen, goal, model=who)
        except (UnreadError, UnresolvedError) as error:
            return SeenThings(seen, unread=str(error), model=who)

    def _read_scene(self, observation: Observation, questions: Sequence[Question],
                    timeout_s: float | None, prompt: GroundingPrompt) -> list[Answer]:
        """Answer questions from one reply about all there is."""
        reader = load_domain(prompt.reading).part('readings')
        if reader is None:
            raise InputError(f'prompt {prompt.name!r}: domain {prompt.reading} has no readings.py '
                             'that reads the reply (add it, or choose a prompt for questions)')
        key = (observation.image_id, observation.text, observation.stamp_ns, prompt)
        last = self._last
        if last is not None and last[0] == key:
            reply = last[1]
        else:
            reply = ask_one(self.inner, Generate(
                prompt.system, _parts(observation, prompt), prompt.max_tokens), timeout_s)
            self._last = key, reply
        said: Mapping[Atom, bool] = reader.read_scene(
            reply.text, [question.atom for question in questions], reply.truncated) or {}
        cut_at = prompt.max_tokens if reply.truncated else 0
        return [Answer(reply.text, cut_at=cut_at, verdict=_VERDICTS[said.get(question.atom)])
                for question in questions]


def in_places(replies: Sequence[Reply | None], refused: Sequence[str]) -> list[Reply | None]:
    """Return replies to the questions that were asked in the places of all questions.

    Args:
        replies: to the questions that were not refused, in order; those at the end may be missing.
        refused: why each question was refused; '' where it was not.
    """
    left = iter(replies)
    return [None if why else next(left, None) for why in refused]


def why_unable(model: Model, question: Question) -> str:
    """Return why a model would answer a question at random, with the remedy; '' if it would not.

    A model that was made for one domain's questions knows no other words.
    """
    traits = traits_of(model)
    made_for = traits.domain
    if not made_for or traits.refuses:
        return ''
    domain = load_domain(made_for)
    if _as_worded(domain, question) or domain.read_question(question.text) is not None:
        return ''
    able = ', '.join(name for name in backends_that_answer(Generate)
                     if not traits_of(backend_class(name)).truth)
    text = question.text if len(question.text) <= _SHOWN else f'{question.text[:_SHOWN]}...'
    return (f'{model.name} was made for the questions of domain {made_for}, and would answer '
            f'others at random; {text!r} is none of them, as far as it can be read. It knows '
            f'{", ".join(domain.wording.templates)}: ask as in {_examples(made_for)}, or in words '
            f'like these, or choose a backend that reads any question: {able}')


@functools.cache
def _examples(name: str) -> str:
    """A question for each predicate of a domain, about the objects of one of its problems."""
    domain = load_domain(name)
    atoms = [atom for problem in (domain.split_problems(domain.splits[0])[:1] if domain.splits
                                  else ()) for atom in domain.worth_asking(problem)]
    atoms.sort(key=lambda atom: len(set(atom.args)) < len(atom.args))  # of one object twice: last
    forms: dict[str, str] = {}
    for atom in atoms:
        forms.setdefault(atom.predicate, domain.question(atom).text)
    return ', '.join(map(repr, forms.values() or domain.wording.templates.values()))


def meaning_of(model: Model, question: Question) -> Meaning | None:
    """Return the question that a model of one domain's questions is asked instead of another.

    It means the same in the domain's own words. None for a model that reads any words, and for a
    question that is none of the domain's.
    """
    traits = traits_of(model)
    if not traits.domain or traits.refuses:
        return None
    domain = load_domain(traits.domain)
    return None if _as_worded(domain, question) else domain.read_question(question.text)


def _as_worded(domain: Domain, question: Question) -> bool:
    """Whether a question about an atom is worded as the domain does, about whatever objects."""
    return not question.in_words and domain.is_question(question.text)


_SHOWN = 120
"""Most characters of a question that an error message repeats."""
_VERDICTS = {True: Verdict.YES, False: Verdict.NO, None: Verdict.UNPARSED}


def _parts(observation: Observation, prompt: GroundingPrompt) -> tuple[Part, ...]:
    """Return the prompt's parts: the picture, or the text in its place, between the words.

    Raises:
        InputError: the observation has neither image nor text.
    """
    seen: Part | None = observation.text if observation.image is None else observation.image
    if seen is None:
        raise InputError('a model must be shown something; this observation has neither image nor '
                         'text')
    return tuple(part for part in (prompt.before_image, seen, prompt.after_image)
                 if not isinstance(part, str) or part)
