"""Running samples: requests to the model, replies, scores.

The samples of a batch share their cluster (such as the picture), and yes/no questions about one
picture go to the model in one request.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from sightplan.agent import answerer_class, make_answerer
from sightplan.agent.context import Context
from sightplan.agent.methods import ask
from sightplan.agent.sample_asking import in_words
from sightplan.domains import load_domain
from sightplan.model import (
    Answer,
    Atom,
    BackendError,
    CancelledError,
    InputError,
    SightplanError,
    SpendingCapError,
    State,
    TargetMasks,
    Usage,
    used_between,
)
from sightplan.model.query import Model, ServesDomains, recorded_elsewhere
from sightplan.model.redaction import without_secrets
from sightplan.model.sample import GUESS, Sample, SampleReply
from sightplan.model.sealing import sealed
from sightplan.queries import Locate
from sightplan.records import RunStore
from sightplan.runs.handing import Handed
from sightplan.runs.sample_pictures import SamplePictures
from sightplan.runs.sample_tools import SampleTools
from sightplan.runs.samples import (
    SamplePlan,
    random_reply,
    score_reply,
    shared,
    truth_reply,
)
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_rules import SAMPLES
from sightplan.runs.work import Line, closing
from sightplan.vlm.api import check_backend, make_backend
from sightplan.vlm.per_domain import ModelPerDomain, domain_loader, has_model_per_domain

_LOG = logging.getLogger(__name__)


class SampleRunner:
    """Makes the lines of samples: requests to the model, replies, scores; see ``work.Runner``."""

    def __init__(self, settings: RunSettings, suite: Suite, given: Model | None = None) -> None:
        """Make or load the samples.

        Args:
            settings: what to run, checked.
            suite: of samples.
            given: the model that will answer, where it is not the one that the settings name.

        Raises:
            InputError: the settings are wrong, or the model answers no such samples.
        """
        self.plan = SamplePlan(settings, suite, given)
        settings = self.plan.settings
        self._settings, self._suite = settings, suite
        self._truth = _CurrentTruth(self.plan)
        self._handed = Handed(self.plan)
        self._answerer = make_answerer(settings.method, settings.method_options,
                                       _Truth(self.plan, self._handed))
        self.backend: Model | None = None
        self._chosen: ModelPerDomain | None = None
        self._pictures: SamplePictures | None = None
        self._recorded = settings.record or settings.record_images
        self._items = {sample.id: sample for sample in self.plan.items}

    def open(self, stack: ExitStack) -> None:
        """Samples need nothing but a model; contract in ``work.Runner``."""
        self._tools = SampleTools(self.plan, None, stack, self._handed, self._truth)

    def load(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        """Load the model; contract in ``work.Runner``.

        Where the samples' domains have a model each, ``given`` is used only if it serves them
        (``ServesDomains``).
        """
        self.backend = self._loaded(options, given, stack)
        self._recorded |= recorded_elsewhere(given)
        self._tools = SampleTools(self.plan, self.backend, stack, self._handed, self._truth)
        return self.backend

    def _loaded(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        settings, domains = self._settings, self.plan.domains
        if has_model_per_domain(settings.backend) and not settings.backend_options.get('domain'):
            load = (given.for_domain if isinstance(given, ServesDomains) else
                    domain_loader(settings.backend, options, lambda name, values: closing(
                        stack, make_backend(name, values))) if len(domains) > 1 else None)
            if load is not None and domains:
                self._chosen = ModelPerDomain(load, domains)
                return self._chosen
        if given is not None:
            return given
        pointing = issubclass(answerer_class(settings.method), ask.Answerer) and any(
            sample.target is not None for sample in self.plan.items)
        if pointing:
            check_backend(settings.backend, Locate, None, options)
        model = closing(stack, make_backend(settings.backend, options, self._truth))
        if pointing:
            check_backend(settings.backend, Locate, model)
        return model

    def session(self) -> dict[str, Any]:
        """Empty: samples add nothing to the record of a session."""
        return {}

    def begin(self, store: RunStore, backend: Model | None, stack: ExitStack) -> None:
        """Contract in ``work.Runner``."""
        self._tools = SampleTools(self.plan, backend, stack, self._handed, self._truth)
        if self._settings.failure_images:
            self._pictures = SamplePictures(store.folder, self._suite, store.lines())

    def batches(self, missing: Sequence[Sample]) -> Iterable[Sequence[Sample]]:
        """Neighbours of one cluster and domain."""
        groups = itertools.groupby(missing, key=shared)
        return (tuple(group) for _, group in groups)

    def make(self, batch: Sequence[Sample], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """Answer, read and score a batch; contract in ``work.Runner``."""
        first, asked = batch[0], batch
        if self._recorded:
            # A recording is replayed by the request, so that none may be recorded in parts.
            asked = self.plan.clusters[shared(first)]
        self._truth.batch = asked
        if self._chosen is not None:
            self._chosen.use(first.domain)
        self._tools.start(asked, self._current_model)
        before = self.backend.usage if self.backend is not None else None
        started, error = time.monotonic(), ''
        try:
            replies = self._answerer.answer(self._handed.hand_out(asked),
                                            sealed(Context, self._tools))
            if len(replies) != len(asked):
                raise BackendError(f'method {self._settings.method!r} gave {len(replies)} replies '
                                   f'to {len(asked)} samples')
            replies = [self.guess(sample) if reply is GUESS else reply
                       for sample, reply in zip(asked, replies, strict=True)]
        except (CancelledError, InputError):
            raise
        except SightplanError as failure:
            if failure.defect:
                _LOG.exception('samples of %s ended by a defect', first.cluster)
            error = f'{type(failure).__name__}: {failure}'
        except Exception as failure:  # a defect must not end a sweep of hours
            _LOG.exception('samples of %s ended by an unexpected exception', first.cluster)
            error = f'{type(failure).__name__}: {failure}'
        if error:
            replies = [SampleReply(error=without_secrets(error))] * len(asked)
        found = {sample.id: reply for sample, reply in zip(asked, replies, strict=True)}
        stopped = next((reply.error for reply in replies if reply.stopped), '')
        batch = [sample for sample in batch if not found[sample.id].stopped]
        seconds = (time.monotonic() - started) / max(1, len(batch))
        spent = used_between(before, self.backend.usage) if self.backend is not None else None
        # What a request cost stands in its first line, so that sums over lines are right.
        costs = itertools.chain([spent], itertools.repeat(None))
        lines = [self._line(sample, found[sample.id], cost, seconds)
                 for sample, cost in zip(batch, costs, strict=False)]
        if stopped:
            cap = SpendingCapError(stopped.removeprefix(f'{SpendingCapError.__name__}: '))
            cap.partial = lines
            raise cap
        return lines

    def _line(self, sample: Sample, reply: SampleReply, spent: Usage | None, seconds: float,
              ) -> Line:
        truth, said = self.plan.truth(sample), reply.answer or Answer()
        found, error = self._scored(sample, truth, reply)
        return {
            'id': sample.id, 'suite': self._suite.name, 'kind': 'sample',
            'cluster': sample.cluster,
            'domain': load_domain(sample.domain).name if sample.domain else '',
            'split': sample.split,
            'method': self._settings.method, 'model': self._model_of(sample),
            'seed': self._settings.seed, **found, 'error': error or None,
            'usage': None if spent is None else dataclasses.asdict(spent), 'seconds': seconds,
            'reply': reply.text, **said.to_line(), 'p_right': reply.probability, 'truth': truth,
            'details': sample.details}

    def _scored(self, sample: Sample, truth: Any, reply: SampleReply) -> tuple[Line, str]:
        """Return the line of ``score_reply``, and why the sample is not scored, '' if it is.

        An unexpected exception while a reply is read or scored leaves only this sample unscored.
        """
        error = reply.error
        if not error:
            try:
                return score_reply(self._suite, sample, truth, reply), ''
            except SightplanError:
                raise
            except Exception as failure:
                _LOG.exception('sample %s cannot be scored', sample.id)
                error = without_secrets(f'{type(failure).__name__}: {failure} (when its reply '
                                        'was read and scored)')
        measures = dict.fromkeys(measure.name for measure in self._suite.measures(SAMPLES))
        return {'measures': measures, 'cause': None, 'answer': None, 'unread': '',
                'unknown': []}, error

    @property
    def _current_model(self) -> str:
        """Exact name of the run's model for the domain of the batch; '' where none is needed."""
        backend = self._chosen.inner if self._chosen is not None else self.backend
        return '' if backend is None else backend.name

    def _model_of(self, sample: Sample) -> str:
        """Exact name of what replied to a sample: of all models, where several had a part in it.

        A sample that no model was asked about bears the name of the run's model.
        """
        return self._tools.answered_by(sample) or self._current_model

    def guess(self, sample: Sample) -> SampleReply:
        """Return a random reply to a sample of the plan, drawn with the run's seed."""
        return random_reply(self._suite, sample, self._settings.seed)

    def before(self, line: Line) -> None:
        """Draw a picture of a sample that went wrong, for a few samples of each cause."""
        if self._pictures is not None:
            self._pictures.commit(line, self._items[line['id']])


class _Truth:
    """The truth for the answerer that declares ``needs_truth``, and for no other."""

    def __init__(self, plan: SamplePlan, handed: Handed) -> None:
        self._plan, self._handed = plan, handed

    def reply(self, sample: Sample) -> SampleReply:
        sample = self._handed.real(sample)
        return truth_reply(self._plan.suite, sample, self._plan.truth(sample))


class _CurrentTruth:
    """The state that the current batch is about, for a backend that declares ``needs_truth``.

    Of questions in words it is those whose answer is yes.
    """

    def __init__(self, plan: SamplePlan) -> None:
        self._plan = plan
        self.batch: Sequence[Sample] = ()

    @property
    def view(self) -> str:
        """The view that the current batch shows, as the samples' details have it.

        Before the first batch that of all samples; '' where there is none, or several.
        """
        views = {str(sample.details.get('view', '')) for sample in (
            self.batch or self._plan.items)}
        return views.pop() if len(views) == 1 else ''

    @property
    def known_words(self) -> frozenset[Atom]:
        """Atoms of the current batch's questions in words; contract in ``WordsTruth``."""
        return frozenset(sample.question.atom for sample in self.batch
                         if sample.question is not None and sample.question.in_words)

    def state(self, stamp_ns: int | None = None) -> State:
        source = self._plan.truth_source(self.batch[0]) if self.batch else None
        if source is None and self.batch and all(map(in_words, self.batch)):
            return frozenset(sample.question.atom for sample in self.batch
                             if sample.question is not None and self._plan.truth(sample))
        if source is None:
            raise InputError(f'suite {self._plan.suite.name} tells no true state of its samples; '
                             'choose a backend that needs none')
        return source.state(stamp_ns)

    def last_outcome(self) -> str:
        return ''

    def masks(self, target: str) -> TargetMasks:
        """Contract in ``MaskSource``."""
        source = self._plan.mask_source(self.batch[0]) if self.batch else None
        if source is None:
            raise InputError(f'suite {self._plan.suite.name} does not tell where things are in '
                             'its samples; choose a backend that needs no truth')
        return source.masks(target)

    def better(self, first: str, second: str) -> int:
        """Contract in ``PreferenceSource``."""
        source = self._plan.preference_source(self.batch[0]) if self.batch else None
        if source is None:
            raise InputError(f'suite {self._plan.suite.name} does not tell which of two is the '
                             'better one; choose a backend that needs no truth')
        return source.better(first, second)
