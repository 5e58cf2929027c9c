"""Asking a model the recorded questions, about the recorded images."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Self

from sightplan.grounding import BackendGrounder, parse_yes_no
from sightplan.model import (
    BARE,
    Answer,
    Asked,
    AskPurpose,
    GroundingPrompt,
    InfrastructureError,
    InputError,
    Observation,
    Question,
    State,
    prompt_id,
)
from sightplan.model.query import Model, start_episode, traits_of
from sightplan.model.yes_no_text import Parser
from sightplan.records.recorded import RecordedEpisode
from sightplan.replay.answers_store import Key, Stored, kept
from sightplan.replay.batches import Batch, Source, batches

RECORDED, TODAY = 'recorded', 'domain'
"""Sources of the questions' wording: the bag, or the domain as it is now."""


class CurrentTruth:
    """A TruthSource for backends that are oracles: the truth of the episode being replayed."""

    def __init__(self) -> None:
        """Know nothing before ``use``."""
        self.episode_id = ''
        self._episode: RecordedEpisode | None = None

    def use(self, episode: RecordedEpisode) -> None:
        """Answer about an episode from now on."""
        self.episode_id, self._episode = episode.spec.id, episode

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a recorded time; see ``RecordedTruth``.

        Raises:
            InputError: the episode has no ground truth.
        """
        if self._episode is None:
            raise InputError('no episode is being replayed')
        if self._episode.truth is None:
            raise InputError(f'{self._episode.bag}: has no ground truth, which this backend '
                             f'answers from; choose a backend that looks at images')
        return self._episode.truth.state(stamp_ns)

    def last_outcome(self) -> str:
        """Return '': a replay carries out no actions."""
        return ''


@dataclass(frozen=True, eq=False)
class Reply:
    """Result of asking a batch of questions again.

    Attributes:
        batch: the recorded questions.
        answers: one per question, without the replies' texts if they come from the store; None if
            the bag lacks data that the model needs.
        questions: the questions as they were asked now; empty if the model was not asked.
        prompt: name and hash of the prompt that was used.
        seconds: wall-clock time of the call [s].
        fresh: whether the model was asked now.
        lacks: the data that the bag lacks: ``image``, ``truth``, or ''.
    """

    batch: Batch
    answers: tuple[Answer, ...] | None
    questions: tuple[Question, ...] = ()
    prompt: str = ''
    seconds: float = 0.0
    fresh: bool = True
    lacks: str = ''


class PromptNotes:
    """Rebuilds prompts from their recorded names, and notes which are not what they were.

    Attributes:
        changed: texts for people, one for each prompt that is another one today.
    """

    def __init__(self) -> None:
        self.changed: dict[str, str] = {}

    def prompt(self, episode: RecordedEpisode, event: Asked) -> GroundingPrompt:
        """The words around the questions of a batch, with the recorded memory."""
        domain = episode.domain
        name = event.prompt.partition('@')[0]
        if name in ('', BARE.name):
            return BARE
        if name not in domain.prompt_names:
            self.changed[event.prompt] = (
                f'prompt {event.prompt} is none of domain {domain.name} today; the questions are '
                f'asked without it')
            return BARE
        found = domain.grounding_prompt(name, event.memory, episode.spec.problem,
                                        event.observation.described)
        if event.prompt not in (name, prompt_id(name, found.sha256)):
            self.changed[event.prompt] = (
                f'prompt {event.prompt} was recorded, today it is '
                f'{prompt_id(name, found.sha256)}: that one is used')
        return found


def ask_again(sources: Iterable[Source], backend: Model, *, truth: CurrentTruth | None = None,
              parse: Parser = parse_yes_no, wording: str = RECORDED,
              purposes: Collection[AskPurpose] = (), limit: int = 0,
              done: dict[Key, Stored] | None = None, workers: int = 1,
              timeout_s: float | None = None, prompts: PromptNotes | None = None,
              finished: Callable[[Source], None] = lambda source: None,
              cancelled: Callable[[], bool] = lambda: False) -> Iterator[Reply]:
    """Ask a model all recorded batches, one request a batch.

    A model that keeps a history of the episode (``Traits.history``) is asked in order,
    and on resuming an episode from its beginning, so that its answers are those of one session.

    Args:
        sources: the episodes, in order; read as they are needed.
        backend: the model.
        truth: what was given to ``make_backend``, if the backend is an oracle.
        parse: reads replies.
        wording: RECORDED, or TODAY.
        purposes: ask only what was asked for these; empty: all.
        limit: stop before the first image beyond this number of them; 0: none.
        done: existing answers, by key of their batch.
        workers: most batches under way at a time; only for a backend that may be used by several
            threads, and keeps no history.
        timeout_s: limit of a batch [s]; None: the backend's own.
        prompts: notes which prompts have changed.
        finished: called when all batches of an episode were handed out.
        cancelled: polled before each batch; once true, no more are begun.

    Yields:
        all batches, as they are answered.

    Raises:
        InfrastructureError: the backend failed, after all that was answered has been yielded.
        InputError: answers in ``done`` are to other questions.
    """
    done = done or {}
    history = traits_of(backend).history
    asker = _Asker(backend, BackendGrounder(backend, parse), wording, timeout_s,
                   prompts or PromptNotes())
    within = _Limit(limit)
    with _UnderWay(1 if history or traits_of(backend).truth else workers) as under_way:
        for source in sources:
            every = list(batches(source, purposes))
            chosen = list(itertools.takewhile(within.take, every))
            anew = history and any(batch.key not in done for batch in chosen)
            if chosen and traits_of(backend).truth and truth is not None:
                truth.use(source.episode)
            if chosen:
                start_episode(backend, source.episode.spec.id, source.episode.spec.split)
            for batch in chosen:
                known = kept(done, batch)
                if known is not None and not anew:
                    yield Reply(batch, known, fresh=False)
                    continue
                yield from under_way.room()
                if cancelled():
                    yield from under_way.rest()
                    return
                # Bags are read in this thread alone.
                seen = source.episode.with_image(batch.event.observation)
                under_way.submit(asker.ask, batch, seen, known)
            yield from under_way.room()
            finished(source)
            if len(chosen) < len(every):
                break
        yield from under_way.rest()


@dataclass(frozen=True)
class _Asker:
    """Asks the model one batch; arguments as of ``ask_again``."""

    backend: Model
    grounder: BackendGrounder
    wording: str
    timeout_s: float | None
    prompts: PromptNotes

    def ask(self, batch: Batch, seen: Observation, known: tuple[Answer, ...] | None) -> Reply:
        """Ask a batch; if its answers are ``known``, only to complete the model's history."""
        event, episode = batch.event, batch.source.episode
        if traits_of(self.backend).pixels and seen.image is None and not seen.text:
            return Reply(batch, None, lacks='image')
        if traits_of(self.backend).truth and not _known(episode, seen):
            return Reply(batch, None, lacks='truth')
        words = self.prompts.prompt(episode, event)
        questions = (event.questions if self.wording == RECORDED else
                     tuple(episode.domain.question(q.atom) for q in event.questions))
        began = time.monotonic()
        answers = tuple(self.grounder.ground(seen, questions, self.timeout_s, words))
        if known is not None:
            return Reply(batch, known, fresh=False)
        return Reply(batch, answers, questions, prompt_id(words.name, words.sha256),
                     time.monotonic() - began)


class _UnderWay:
    """Batches that are being answered, at most ``workers`` at a time; a context manager."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, 'replay')
        self._waiting: set[Future[Reply]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, ask: Callable[..., Reply], *arguments: object) -> None:
        """Begin to ask a batch."""
        self._waiting.add(self._pool.submit(ask, *arguments))

    def room(self) -> Iterator[Reply]:
        """Yield replies until another batch can begin."""
        return self._collect(self._workers - 1)

    def rest(self) -> Iterator[Reply]:
        """Yield all outstanding replies."""
        return self._collect(0)

    def _collect(self, most: int) -> Iterator[Reply]:
        """Yield replies until at most ``most`` batches are under way; after an error, none."""
        failure: BaseException | None = None
        while len(self._waiting) > (0 if failure else most):
            ready, self._waiting = wait(self._waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                if (error := future.exception()) is not None:
                    failure = failure or error
                else:
                    yield future.result()
        if failure is not None:
            raise failure


def _known(episode: RecordedEpisode, seen: Observation) -> bool:
    """Whether the truth at the time of an observation was recorded."""
    try:
        return episode.truth is not None and episode.truth.state(seen.stamp_ns) is not None
    except InfrastructureError:
        return False


class _Limit:
    """Counts distinct images up to a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[tuple[str, str, int]] = set()

    def take(self, batch: Batch) -> bool:
        """Whether a batch is about an image within the limit."""
        seen = batch.event.observation
        place = (batch.source.key, seen.image_id, 0 if seen.image_id else seen.stamp_ns)
        if place not in self._seen and self._limit and len(self._seen) >= self._limit:
            return False
        self._seen.add(place)
        return True
