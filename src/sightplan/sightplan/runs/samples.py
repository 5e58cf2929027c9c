"""A run of samples: one request, one reply, one score each; contract in ``work``.

The samples of a batch share their cluster (such as the picture), and yes/no questions about one
picture go to the model in one request.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sightplan
from sightplan.agent import answerer_class, answerer_settings, make_answerer
from sightplan.domains import Domain, load_domain
from sightplan.grounding import BackendGrounder, parse_yes_no
from sightplan.grounding.calibration import LoggedAnswer
from sightplan.metrics.measures import scored
from sightplan.model import (
    Atom,
    BackendError,
    CancelledError,
    InputError,
    Observation,
    SightplanError,
    State,
    TruthSource,
    Usage,
    identity_values,
    prompt_id,
    settings_fields,
    used_between,
)
from sightplan.model.reading import Record, read_file
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.records import RunStore
from sightplan.runs.settings import ALL_SPLITS, RunSettings
from sightplan.runs.suite import SAMPLES, Scored, Suite, Unread
from sightplan.runs.work import Line, closing
from sightplan.vlm import recording
from sightplan.vlm.api import (
    Backend,
    TextReply,
    TextRequest,
    YesNoReply,
    YesNoRequest,
    backend_content,
    backend_reads_prompt,
    backend_settings,
    make_backend,
    resolved_options,
)

_LOG = logging.getLogger(__name__)
_GREY = np.full((480, 480, 3), 128, np.uint8)
"""What a blind method shows to a backend that replies to pictures only."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a split, as a suite makes or loads them.

    Attributes:
        items: in order.
        truth: from a sample's id to what is true, plain JSON data: for scoring and ``oracle``.
        identity: what results depend on, such as the hash of the data; plain JSON data.
        skipped: what cannot be used, and why, for people.
        truth_source: the state that a sample's question is about, for the backend
            ``noisy_oracle``; None where there is none.
    """

    items: Sequence[Sample]
    truth: Callable[[str], Any]
    identity: Mapping[str, Any]
    skipped: Sequence[str] = ()
    truth_source: Callable[[Sample], TruthSource | None] = lambda sample: None


class KnownState:
    """A TruthSource whose state never changes: that of a picture."""

    def __init__(self, state: State) -> None:
        """Keep the state."""
        self._state = state

    def state(self, stamp_ns: int | None = None) -> State:
        """The state, at whatever time."""
        return self._state

    def last_outcome(self) -> str:
        """Nothing was done."""
        return ''


class SuitePrompt(Record):
    """The words around samples that are no yes/no questions: ``prompts/<name>.yaml`` of a suite.

    Attributes:
        system: text of the system role.
        before: text before the sample's parts.
        after: text after them.
        max_tokens: most tokens of the reply.
    """

    system: str = ''
    before: str = ''
    after: str = ''
    max_tokens: int = 1024


# ------------------------------------------------------------------------------------- scoring


def read_reply(suite: Suite, sample: Sample, reply: SampleReply) -> tuple[Any, str]:
    """What a suite reads from a reply.

    Returns:
        the answer, plain JSON data, None if it cannot be read; and why not, '' if it can.
    """
    try:
        return suite.module('reading').read(reply.text, sample), ''
    except Unread as unread:
        return None, str(unread) or 'no valid answer'


def score_reply(suite: Suite, sample: Sample, truth: Any, reply: SampleReply) -> dict[str, Any]:
    """Read a reply and score it: the same for a run and for a file of predictions.

    Returns:
        ``measures``, ``cause``, ``answer`` and ``unread`` of the sample's line.
    """
    answer, unread = read_reply(suite, sample, reply)
    found: Scored = suite.module('scoring').score(sample, answer, truth, reply)
    return {'measures': dict(found.measures), 'cause': found.cause, 'answer': answer,
            'unread': unread}


def truth_reply(suite: Suite, sample: Sample, truth: Any) -> SampleReply:
    """The reply that says what is true: ``reading.write`` of the suite, else the truth as JSON.

    A yes/no answer is certain, so that its probabilities are 1 and 0.
    """
    write = getattr(suite.module('reading'), 'write', None)
    text = str(write(truth, sample)) if write is not None else (
        truth if isinstance(truth, str) else json.dumps(truth))
    if sample.question is None:
        return SampleReply(text)
    return SampleReply(text, float(bool(truth)), float(not truth))


def random_reply(suite: Suite, sample: Sample, seed: int) -> SampleReply:
    """A valid reply at random: ``reading.guess`` of the suite, else yes or no.

    Raises:
        InputError: the sample is no yes/no question, and the suite cannot guess.
    """
    rng = random.Random(f'{seed}\x1f{sample.id}')
    guess = getattr(suite.module('reading'), 'guess', None)
    if guess is not None:
        return SampleReply(str(guess(sample, rng)))
    if sample.question is None:
        raise InputError(f'suite {suite.name}: method random needs a function guess(sample, rng) '
                         f'in {suite.folder / "reading.py"}, which gives a valid reply')
    return SampleReply('Yes' if rng.random() < 0.5 else 'No')


# ------------------------------------------------------------------------------------ the plan


class SamplePlan:
    """The samples of a run; contract in ``work.Plan``.

    Attributes:
        settings: of the run.
        suite: that they belong to.
        items: in order.
        skipped: what cannot be used, and why.
        notes: nothing.
        clusters: the samples of each batch, by what they have in common.
    """

    def __init__(self, settings: RunSettings, suite: Suite) -> None:
        """Make or load the samples.

        Raises:
            InputError: unknown split or method, a setting that is about episodes, or data that
                cannot be used.
        """
        self.settings, self.suite = settings, suite
        self.notes: dict[str, Any] = {}
        answerer_settings(settings.method, settings.method_options)
        _check(settings, suite)
        self.loaded = load_samples(suite, settings.split, settings.suite_options)
        self.items = [sample for part in self.loaded for sample in part.items]
        self.skipped = [text for part in self.loaded for text in part.skipped]
        if settings.episodes > len(self.items):
            raise InputError(f'episodes = {settings.episodes}, but split {settings.split!r} of '
                             f'suite {suite.name} has {len(self.items)} samples; ask for fewer')
        if settings.episodes:
            self.items = self.items[:settings.episodes]
        if not self.items:
            raise InputError(f'suite {suite.name}, split {settings.split!r}: there is not one '
                             'sample' + ''.join(f'\n  {text}' for text in self.skipped))
        self.clusters: dict[tuple[str, str], list[Sample]] = {}
        for sample in self.items:
            self.clusters.setdefault(_batch(sample), []).append(sample)
        self._of = {sample.id: part for part in self.loaded for sample in part.items}

    @property
    def domains(self) -> tuple[str, ...]:
        """References of the domains of the samples' questions (``Domain.reference``), in order."""
        return tuple(dict.fromkeys(sample.domain for sample in self.items if sample.domain))

    def truth(self, sample: Sample) -> Any:
        """What is true; for scoring and the oracle."""
        return self._of[sample.id].truth(sample.id)

    def truth_source(self, sample: Sample) -> TruthSource | None:
        """The state that a sample's question is about; for the backend ``noisy_oracle``."""
        return self._of[sample.id].truth_source(sample)

    def identity(self, model: str | None) -> dict[str, Any]:
        """Contract in ``work.Plan``."""
        settings, cls = self.settings, answerer_class(self.settings.method)
        asked = [load_domain(name) for name in self.domains]
        identity: dict[str, Any] = {
            'sightplan': sightplan.__version__,
            'suite': self.suite.name,
            'kind': SAMPLES,
            'domain': ', '.join(domain.name for domain in asked),
            'split': settings.split,
            'samples': {'count': len(self.items), **{
                split: dict(part.identity) for split, part in zip(
                    _splits(self.suite, settings.split), self.loaded, strict=True)}},
            'questions_sha256': {domain.name: self._wording(domain) for domain in asked},
            'method': {'name': settings.method, **dataclasses.asdict(
                answerer_settings(settings.method, settings.method_options))},
            'backend': None, 'model': model, 'prompt': None, 'seed': settings.seed}
        if cls.needs_model:
            options = resolved_backend_options(settings, self.domains)
            identity['backend'] = {'name': settings.backend, **identity_values(
                backend_settings(settings.backend, options))}
            identity['prompt'] = {'name': cls.prompt, 'sha256': {
                domain.name: domain.prompt_hash(cls.prompt) for domain in asked}}
            if any(sample.question is None for sample in self.items):
                prompt = suite_prompt(self.suite, cls.suite_prompt)
                identity['suite_prompt'] = {'name': cls.suite_prompt, 'sha256': hashlib.sha256(
                    prompt.model_dump_json().encode()).hexdigest()[:12]}
        return identity

    def _wording(self, domain: Domain) -> str:
        """Hash of the wording of a domain's questions, which may be the suite's own."""
        asked = [sample.question for sample in self.items
                 if sample.domain == domain.reference and sample.question is not None]
        if all(question.text == domain.question(question.atom).text for question in asked):
            return domain.question_hash
        texts = '\n'.join(question.text for question in asked)
        return hashlib.sha256(texts.encode()).hexdigest()[:12]


def sample_answers(folder: Path) -> list[LoggedAnswer]:
    """The answers of a run of yes/no questions about atoms, to learn from (``calibrate``).

    Raises:
        InputError: there is no run, its method shows no pictures to a model, or it has no such
            answers.
    """
    store = RunStore(folder)
    identity = store.run_info()['identity']
    method = identity['method']['name']
    if not answerer_class(method).looks:
        raise InputError(f'{folder}: method {method!r} shows no picture to a model, so that '
                         'nothing can be learned from it (run ask or ask_cot)')
    prompt = identity['prompt'] if backend_reads_prompt(identity['backend']['name']) else None
    answers = []
    for line in store.lines():
        text = line['details'].get('atom')
        if not scored(line) or text is None or not isinstance(line['truth'], bool):
            continue
        domain = line['domain']
        answers.append(LoggedAnswer(
            Atom.parse(text), parse_yes_no(line['reply']), line['truth'], line['p_yes'],
            line['p_no'], line['cluster'], line['cluster'], line['cluster'], domain,
            line['model'], identity['questions_sha256'][domain],
            '' if prompt is None else prompt_id(prompt['name'], prompt['sha256'][domain])))
    if not answers:
        raise InputError(f'{folder}: there is not one answer to a yes/no question about an atom '
                         '(name a run of suite predicates)')
    return answers


def load_samples(suite: Suite, split: str, options: Mapping[str, Any]) -> list[Samples]:
    """The samples of a split, or of each one ("all"), as the suite makes or loads them.

    Raises:
        InputError: there is no such split, or the suite cannot make it.
    """
    module = suite.module('samples')
    loaded: list[Samples] = [module.samples(one, options) for one in _splits(suite, split)]
    seen: set[str] = set()
    for sample in itertools.chain.from_iterable(part.items for part in loaded):
        if sample.id in seen:
            raise InputError(f'suite {suite.name}: two samples are called {sample.id!r}; give '
                             f'each an id of its own')
        seen.add(sample.id)
    return loaded


def suite_prompt(suite: Suite, name: str) -> SuitePrompt:
    """A suite's prompt; ``ask`` is the sample alone where the suite says nothing.

    Raises:
        InputError: there is none, or its file cannot be used.
    """
    path = suite.folder / 'prompts' / f'{name}.yaml'
    if name == 'ask' and not path.is_file():
        return SuitePrompt()
    return read_file(SuitePrompt, path)


def resolved_backend_options(settings: RunSettings, domains: Sequence[str]) -> dict[str, Any]:
    """The backend's options, with what they leave open and the run decides.

    Raises:
        InputError: unknown backend, unknown option or bad value.
    """
    prompt = answerer_class(settings.method).prompt
    reasoning = bool(domains) and load_domain(domains[0]).grounding_prompt(prompt).reasoning
    return resolved_options(settings.backend, settings.backend_options, settings.seed, reasoning,
                            domains[0] if len(domains) == 1 else '')


def _splits(suite: Suite, split: str) -> tuple[str, ...]:
    if split != ALL_SPLITS and split not in suite.splits:
        raise InputError(f'suite {suite.name} has no split {split!r} (choose one of '
                         f'{", ".join((*suite.splits, ALL_SPLITS))})')
    return suite.splits if split == ALL_SPLITS else (split,)


_OF_EPISODES = ('problems', 'domain_file', 'max_actions', 'failure_probability', 'answers_log',
                'bags', 'world_options', 'answers', 'stop_at_goal', 'privileged')
"""Settings that mean nothing to samples."""


def _check(settings: RunSettings, suite: Suite) -> None:
    for name, default in ((f.name, f.default) for f in dataclasses.fields(RunSettings)
                          if f.name in _OF_EPISODES):
        value = getattr(settings, name)
        if value != (default if default is not dataclasses.MISSING else {}):
            raise InputError(f'{name} = {value!r} is about episodes, and suite {suite.name} has '
                             f'samples; leave it out')


# ------------------------------------------------------------------------------------ the work


class SampleWork:
    """The work of a run of samples; contract in ``work.Work``."""

    def __init__(self, settings: RunSettings, suite: Suite, *,
                 backend: Backend | None = None) -> None:
        """Make or load the samples, and load the model.

        Args:
            settings: what to run, checked.
            suite: of samples.
            backend: instead of the one that the settings name; stays open. It is not used where
                the samples' domains have a model each.

        Raises:
            InputError: the settings are wrong.
            InfrastructureError: the model could not be loaded.
        """
        self._settings, self._suite = settings, suite
        self.plan = SamplePlan(settings, suite)
        self._truth = _CurrentTruth(self.plan)
        self._answerer = make_answerer(settings.method, settings.method_options,
                                       _Truth(self.plan))
        with ExitStack() as stack:
            self.backend: Backend | None = None
            self._chosen: _PerDomain | None = None
            if self._answerer.needs_model:
                self.backend = self._make_backend(stack, backend)
            self._desk = _Desk(self.plan, self.backend)
            self._stack = stack.pop_all()

    def _make_backend(self, stack: ExitStack, given: Backend | None) -> Backend:
        settings, domains = self._settings, self.plan.domains
        options = resolved_backend_options(settings, domains)
        fields = {field.name for field in settings_fields(
            type(backend_settings(settings.backend)))}
        if 'domain' in fields and not options['domain'] and len(domains) > 1:
            own: dict[str, Backend] = {}
            made: dict[str, Backend] = {}
            for name in domains:
                values = {**options, 'domain': name}
                content = backend_content(settings.backend, values) or name
                if content not in made:
                    made[content] = closing(stack, make_backend(settings.backend, values))
                own[name] = made[content]
            self._chosen = _PerDomain(own)
            return self._chosen
        return given or closing(stack, make_backend(settings.backend, options, self._truth))

    def session(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def begin(self, store: RunStore) -> None:
        """Contract in ``work.Work``."""
        settings, backend = self._settings, self.backend
        if backend is not None and (settings.record or settings.record_images):
            backend = closing(self._stack, recording.recorded(
                backend, store.folder / recording.NAME, name=settings.backend,
                settings=backend_settings(settings.backend, resolved_backend_options(
                    settings, self.plan.domains)),
                images=settings.record_images))
        self._desk = _Desk(self.plan, backend)

    def batches(self, missing: Sequence[Sample]) -> Iterable[Sequence[Sample]]:
        """Neighbours of one cluster and domain."""
        groups = itertools.groupby(missing, key=_batch)
        return (tuple(group) for _, group in groups)

    def make(self, batch: Sequence[Sample], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """Answer, read and score a batch; contract in ``work.Work``."""
        first, asked = batch[0], batch
        if self._settings.record or self._settings.record_images:
            # A recording is replayed by the request, so that none may be recorded in parts.
            asked = self.plan.clusters[_batch(first)]
        self._truth.batch = asked
        if self._chosen is not None:
            self._chosen.use(first.domain)
        self._desk.start(first)
        before = self.backend.usage if self.backend is not None else None
        started, error = time.monotonic(), ''
        try:
            replies = self._answerer.answer(asked, self._desk)
            if len(replies) != len(asked):
                raise BackendError(f'method {self._settings.method!r} gave {len(replies)} replies '
                                   f'to {len(asked)} samples')
        except (CancelledError, InputError):
            raise
        except SightplanError as failure:
            error = f'{type(failure).__name__}: {failure}'
        except Exception as failure:  # a defect must not end a sweep of hours
            _LOG.exception('samples of %s ended by an unexpected exception', first.cluster)
            error = f'{type(failure).__name__}: {failure}'
        if error:
            replies = [SampleReply(error=error)] * len(asked)
        found = {sample.id: reply for sample, reply in zip(asked, replies, strict=True)}
        seconds = (time.monotonic() - started) / len(batch)
        spent = used_between(before, self.backend.usage) if self.backend is not None else None
        # What a request cost stands in its first line, so that sums over lines are right.
        costs = itertools.chain([spent], itertools.repeat(None))
        return [self._line(sample, found[sample.id], cost, seconds)
                for sample, cost in zip(batch, costs, strict=False)]

    def _line(self, sample: Sample, reply: SampleReply, spent: Usage | None, seconds: float,
              ) -> Line:
        truth = self.plan.truth(sample)
        found = ({'measures': dict.fromkeys(measure.name for measure in self._suite.measures),
                  'cause': None, 'answer': None, 'unread': ''} if reply.error
                 else score_reply(self._suite, sample, truth, reply))
        backend = self._chosen.current if self._chosen is not None else self.backend
        return {
            'id': sample.id, 'suite': self._suite.name, 'kind': 'sample',
            'cluster': sample.cluster,
            'domain': load_domain(sample.domain).name if sample.domain else '',
            'split': sample.split,
            'method': self._settings.method, 'model': backend.model if backend else '',
            'seed': self._settings.seed, **found, 'error': reply.error or None,
            'usage': None if spent is None else dataclasses.asdict(spent), 'seconds': seconds,
            'reply': reply.text, 'p_yes': reply.p_yes, 'p_no': reply.p_no, 'truth': truth,
            'details': sample.details}

    def before(self, line: Line) -> None:
        """Nothing else is kept of a sample."""

    def close(self) -> None:
        """End what was started for it."""
        self._stack.close()


def _batch(sample: Sample) -> tuple[str, str]:
    """What the samples of a batch have in common."""
    return sample.cluster, sample.domain


class _Truth:
    """The truth for the answerer that declares ``needs_truth``, and for no other."""

    def __init__(self, plan: SamplePlan) -> None:
        self._plan = plan

    def reply(self, sample: Sample) -> SampleReply:
        return truth_reply(self._plan.suite, sample, self._plan.truth(sample))


class _CurrentTruth:
    """The state that the current batch is about, for a backend that declares ``needs_truth``."""

    def __init__(self, plan: SamplePlan) -> None:
        self._plan = plan
        self.batch: Sequence[Sample] = ()

    def state(self, stamp_ns: int | None = None) -> State:
        source = self._plan.truth_source(self.batch[0]) if self.batch else None
        if source is None:
            raise InputError(f'suite {self._plan.suite.name} tells no true state of its samples; '
                             'choose a backend that needs none')
        return source.state(stamp_ns)

    def last_outcome(self) -> str:
        return ''


class _Desk:
    """What answerers work with; contract in ``agent.answerer.Desk``."""

    def __init__(self, plan: SamplePlan, backend: Backend | None) -> None:
        self._plan, self._backend = plan, backend
        self._grounder = None if backend is None else BackendGrounder(backend)

    def start(self, sample: Sample) -> None:
        """A batch begins: a backend that keeps a history forgets the one before."""
        if self._grounder is not None:
            self._grounder.start_episode(sample.cluster, sample.split)

    def guess(self, sample: Sample) -> SampleReply:
        return random_reply(self._plan.suite, sample, self._plan.settings.seed)

    def ask(self, samples: Sequence[Sample], prompt: str, suite_prompt: str,
            ) -> list[SampleReply]:
        replies: list[SampleReply] = []
        for (yes_no, _), shown in itertools.groupby(samples, key=_shown):
            group = tuple(shown)
            replies += (self._ask_questions(group, prompt) if yes_no else
                        [self._ask_text(sample, suite_prompt) for sample in group])
        return replies

    def _model(self) -> Backend:
        if self._backend is None:
            raise BackendError('this method was not expected to ask a model (its Answerer '
                               'declares needs_model = False)')
        return self._backend

    def _ask_questions(self, samples: Sequence[Sample], name: str) -> list[SampleReply]:
        """Yes/no questions about one picture, or about none."""
        backend, timeout_s = self._model(), self._plan.settings.grounder_timeout_s
        prompt = load_domain(samples[0].domain).grounding_prompt(name)
        picture = next((part for part in samples[0].parts if isinstance(part, Picture)), None)
        questions = [sample.question for sample in samples if sample.question is not None]
        if picture is None:
            if backend.needs_truth:
                raise InputError(f'backend {self._plan.settings.backend!r} answers from the truth '
                                 'whatever is shown, so that nothing is blind about it; choose '
                                 'another backend or method')
            if backend.generates:
                texts = [(prompt.before_image, prompt.after_image, prompt.ask(question.text))
                         for question in questions]
                return [SampleReply(backend.generate(TextRequest(
                    prompt.system, tuple(text for text in parts if text), prompt.max_tokens,
                    timeout_s)).text) for parts in texts]
        assert self._grounder is not None
        image = _GREY if picture is None else picture.load()
        answers = self._grounder.ground(Observation(image), questions, timeout_s, prompt)
        return [SampleReply(answer.text, answer.p_yes, answer.p_no) for answer in answers]

    def _ask_text(self, sample: Sample, name: str) -> SampleReply:
        prompt = suite_prompt(self._plan.suite, name)
        parts = (prompt.before, *(part if isinstance(part, str) else part.load()
                                  for part in sample.parts), prompt.after)
        return SampleReply(self._model().generate(TextRequest(
            prompt.system, tuple(part for part in parts
                                 if not isinstance(part, str) or part),
            prompt.max_tokens, self._plan.settings.propose_timeout_s)).text)


def _shown(sample: Sample) -> tuple[bool, str]:
    """Whether a sample is a yes/no question about at most one picture; and which."""
    pictures = [part.name for part in sample.parts if isinstance(part, Picture)]
    texts = len(sample.parts) - len(pictures)
    return (sample.question is not None and bool(sample.domain) and len(pictures) <= 1
            and texts == 1), pictures[0] if pictures else ''


class _PerDomain:
    """A backend of which each domain has its own, as one."""

    def __init__(self, backends: Mapping[str, Backend]) -> None:
        self._backends = backends
        self.current: Backend = next(iter(backends.values()))
        self.needs_truth = self.current.needs_truth
        self.needs_pixels = self.current.needs_pixels
        self.generates = self.current.generates
        self.reads_prompt = bool(getattr(self.current, 'reads_prompt', True))

    def use(self, domain: str) -> None:
        """What follows is about a domain."""
        self.current = self._backends[domain]

    @property
    def _all(self) -> list[Backend]:
        return list({id(backend): backend for backend in self._backends.values()}.values())

    @property
    def model(self) -> str:
        return ', '.join(dict.fromkeys(backend.model for backend in self._all))

    @property
    def usage(self) -> Usage | None:
        known = [usage for backend in self._all if (usage := backend.usage) is not None]
        return sum(known, Usage()) if known else None

    def start_episode(self, episode_id: str, split: str = '') -> None:
        start = getattr(self.current, 'start_episode', None)
        if start is not None:
            start(episode_id, split)

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        return self.current.answer(request)

    def generate(self, request: TextRequest) -> TextReply:
        return self.current.generate(request)
