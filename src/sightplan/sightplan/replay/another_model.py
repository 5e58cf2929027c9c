"""A model that is asked the recorded questions, with a directory that keeps what it says."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sightplan.domains import Domain
from sightplan.grounding import PARSERS
from sightplan.model import (
    AskPurpose,
    CancelledError,
    InfrastructureError,
    InputError,
    Usage,
    identity_values,
)
from sightplan.model.query import Model, carry_over, close, traits_of
from sightplan.records import provenance
from sightplan.records.recorded import RecordedEpisode
from sightplan.replay.answers_store import AnswersStore, Key, Stored
from sightplan.replay.asking import RECORDED, CurrentTruth, PromptNotes, Reply, ask_again
from sightplan.replay.sources import Sources
from sightplan.vlm.api import (
    backend_choices,
    backend_class,
    backend_settings,
    make_checked_backend,
    resolved_options,
)

_WORKERS = 8
"""Batches under way at a time where the model finds its own number of requests at a time."""


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Settings for asking another model the recorded questions.

    Attributes:
        backend: name of the backend.
        options: settings of the backend.
        answers: name, in ``PARSERS``, of the parser of replies.
        wording: ``asking.RECORDED`` or ``asking.TODAY``.
        purposes: purposes of the questions to ask again; empty: all.
        limit: see ``ask_again``.
        seed: seed of a backend that has one.
        timeout_s: limit of the questions about one image [s].
    """

    backend: str
    options: Mapping[str, Any] = field(default_factory=dict)
    answers: str = 'strict'
    wording: str = RECORDED
    purposes: tuple[AskPurpose, ...] = ()
    limit: int = 0
    seed: int = 0
    timeout_s: float = 300.0


class Watcher(Protocol):
    """Receives the progress of a replay; called from the asking thread."""

    def started(self, folder: Path, there: int) -> None:
        """The directory is open, and holds some answers already."""

    def answered(self, new: int, spent: Usage | None) -> None:
        """Note the number of new answers, and what all sessions spent, if it is counted."""

    def episode(self, name: str) -> None:
        """Note that all questions of an episode have been asked."""


class AnotherModel:
    """Asks another model, and keeps what it says.

    Raises:
        InputError: a setting is wrong, an oracle is chosen and no bag has any truth, or the bags
            are of several domains and the backend has a model for each.
        InfrastructureError: the model cannot be loaded, or no bag can be read.
    """

    def __init__(self, settings: AskSettings, sources: Sources) -> None:
        self._asking, self._sources = settings, sources
        self._domains: dict[str, Domain] = {}
        known: RecordedEpisode | None = None
        for source in sources.read():
            episode = source.episode
            if not self._domains:
                options = resolved_options(settings.backend, settings.options, settings.seed,
                                           None, episode.domain)
                self._choices = backend_choices(settings.backend, options)
                if self._choices.depth:  # bags hold no depth
                    options = {**options, 'depth': False}
                self._settings = backend_settings(settings.backend, options)
            self._domains.setdefault(episode.domain.name, episode.domain)
            if known is None and episode.truth is not None:
                known = episode
        if not self._domains:
            raise InfrastructureError('nothing could be read: ' + '; '.join(
                f'{name}: {text}' for name, texts in sources.warnings.items()
                for text in texts))
        if len(self._domains) > 1 and self._choices.domain is not None:
            raise InputError(f'the bags are of domains {", ".join(self._domains)}, and backend '
                             f'{settings.backend} has a model for each: replay one domain at a '
                             f'time')
        if (len({domain.errors_together for domain in self._domains.values()}) > 1
                and self._choices.together is not None and 'together' not in settings.options):
            raise InputError(f'errors hang together differently in {", ".join(self._domains)}, '
                             f'domains of these bags: replay one domain at a time, or give the '
                             f'backend option together')
        self._truth = CurrentTruth()
        if traits_of(backend_class(settings.backend)).truth:
            if known is None:
                raise InputError(f'the bags have no ground truth, which backend '
                                 f'{settings.backend} answers from; choose one that looks at '
                                 f'images')
            self._truth.use(known)
        self._backend: Model = make_checked_backend(settings.backend, options, self._truth)

    @property
    def model(self) -> str:
        """Exact name of the model."""
        return self._backend.name

    @property
    def reads_prompt(self) -> bool:
        """Whether its answers depend on the prompt around the questions."""
        return traits_of(self._backend).prompt

    def ask(self, out: Path | str, truths_of: Callable[[Reply], list[bool | None]],
            watcher: Watcher, taken: Callable[[Reply], None],
            cancelled: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Ask all that was not asked yet, and let go of the model.

        Args:
            out: directory that keeps the answers; see ``AnswersStore``.
            truths_of: returns the truths of the questions of an answered batch.
            watcher: learns how it goes.
            taken: takes every answered batch, also those of earlier sessions.
            cancelled: polled before each batch.

        Returns:
            plain JSON data: ``out``, ``backend``, ``model``, ``recorded_models``, ``batches``,
            ``answers`` (all), ``new`` (of this session), ``without_image`` and ``without_truth``
            (batches that could not be asked), ``seconds``, ``spent`` (None where nobody counts),
            ``prompts_changed`` (texts by recorded prompt), ``interrupted``, ``stopped_by``.

        Raises:
            InputError: the directory holds another replay.
        """
        backend, prompts = self._backend, PromptNotes()
        counts = dict.fromkeys(('batches', 'answers', 'new', 'without_image', 'without_truth'), 0)
        models: dict[str, None] = {}
        earlier: dict[Key, list[bool | None]] = {}
        stopped_by = ''
        with ExitStack() as stack:
            stack.callback(close, backend)
            store = stack.enter_context(AnswersStore(out))
            done = store.open(self._identity(), {
                'started': datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'),
                **provenance()})
            spending = _Spending(store, backend)
            watcher.started(store.folder, sum(map(len, done.values())))
            began = time.monotonic()
            try:
                for reply in self._replies(done, prompts, watcher, cancelled):
                    counts['batches'] += 1
                    if reply.answers is None:
                        counts[f'without_{reply.lacks}'] += 1
                        continue
                    if reply.fresh:
                        store.append(reply.batch, reply.questions, reply.answers,
                                     truths_of(reply), backend.name,
                                     reply.prompt if self.reads_prompt else '', reply.seconds)
                        counts['new'] += len(reply.answers)
                        spending.note()
                        watcher.answered(len(reply.answers), spending.total)
                    else:
                        earlier[reply.batch.key] = truths_of(reply)
                    counts['answers'] += len(reply.answers)
                    models[reply.batch.event.model] = None
                    taken(reply)
            except (InfrastructureError, CancelledError) as error:  # the latter: a spending cap
                stopped_by = f'{type(error).__name__}: {error}'
            finally:
                spending.note()
            seconds = time.monotonic() - began
            if earlier:
                store.update_truths(earlier)
        return {'out': str(store.folder), 'backend': self._asking.backend, 'model': self.model,
                'recorded_models': list(models), **counts, 'seconds': round(seconds, 3),
                'spent': None if spending.total is None else dataclasses.asdict(spending.total),
                'prompts_changed': prompts.changed if self.reads_prompt else {},
                'interrupted': bool(stopped_by) or cancelled(), 'stopped_by': stopped_by}

    def _replies(self, done: dict[Key, Stored], prompts: PromptNotes,
                 watcher: Watcher, cancelled: Callable[[], bool]) -> Iterator[Reply]:
        asking = self._asking
        return ask_again(
            self._sources.read(), self._backend, truth=self._truth,
            parse=PARSERS[asking.answers], wording=asking.wording, purposes=asking.purposes,
            limit=asking.limit, done=done,
            workers=self._choices.concurrency or _WORKERS,
            timeout_s=asking.timeout_s, prompts=prompts,
            finished=lambda source: watcher.episode(source.name), cancelled=cancelled)

    def _identity(self) -> dict[str, Any]:
        """Return all settings that the answers depend on."""
        asking, domains = self._asking, self._domains
        return {
            'bags': self._sources.digests(),
            'backend': {'name': asking.backend, **identity_values(self._settings)},
            'model': self.model, 'answers': asking.answers,
            'questions': (RECORDED if asking.wording == RECORDED else
                          {name: domains[name].question_hash for name in sorted(domains)}),
            'prompts': {name: {prompt: domains[name].prompt_hash(prompt)
                               for prompt in domains[name].prompt_names}
                        for name in sorted(domains) if self.reads_prompt},
            'purposes': sorted(purpose.value for purpose in asking.purposes)}


class _Spending:
    """Keeps in ``replay.json`` what all sessions spent on a backend that counts it."""

    def __init__(self, store: AnswersStore, backend: Model) -> None:
        self._store, self._backend = store, backend
        self._keeps = traits_of(backend).capped
        self._earlier = Usage(**(store.info.get('spent') or {})) if self._keeps else Usage()
        carry_over(backend, self._earlier)

    @property
    def total(self) -> Usage | None:
        used = self._backend.usage
        return None if used is None else self._earlier + used

    def note(self) -> None:
        if self._keeps and self.total is not None:
            self._store.note('spent', dataclasses.asdict(self.total))
