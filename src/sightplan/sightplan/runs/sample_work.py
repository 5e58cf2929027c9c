"""Running samples: requests to the model, replies, scores.

The samples of a batch share their cluster (such as the picture), and yes/no questions about one
picture go to the model in one request.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from sightplan.agent import answerer_class, make_answerer
from sightplan.agent.answerer import Desk, each, failed
from sightplan.agent.methods import ask
from sightplan.domains import load_domain
from sightplan.grounding import BackendGrounder
from sightplan.grounding.instructions import Instance, instances_of, propose_goal
from sightplan.model import (
    Answer,
    BackendError,
    CancelledError,
    InputError,
    Observation,
    PlanningResult,
    PlanningTask,
    Question,
    SightplanError,
    SpendingCapError,
    State,
    SymbolicPlanner,
    TargetMasks,
    Usage,
    plugins,
    settings_fields,
    used_between,
)
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import (
    Deadline,
    Model,
    Query,
    R,
    Reply,
    Traits,
    ask_one,
    can_ask,
    part_name,
    start_episode,
    traits_of,
)
from sightplan.model.redaction import without_secrets
from sightplan.model.region import Region
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.model.sealing import Sealed, sealed
from sightplan.queries import ChoiceReply, Choose, Detect, Generate, Locate, YesNo
from sightplan.queries.choose import compare
from sightplan.queries.marks import numbered
from sightplan.records import RunStore
from sightplan.runs.handing import GUESS, Handed
from sightplan.runs.samples import (
    SamplePlan,
    asks_yes_no,
    in_words,
    random_reply,
    score_reply,
    shared,
    truth_reply,
    yes_no_prompt,
)
from sightplan.runs.settings import RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Unread
from sightplan.runs.suite_rules import SAMPLES
from sightplan.runs.work import Line, closing
from sightplan.vlm.api import (
    backend_content,
    backend_settings,
    check_backend,
    make_backend,
    make_checked_backend,
)

_LOG = logging.getLogger(__name__)
_GREY = np.full((480, 480, 3), 128, np.uint8)
"""What a blind method shows to a backend that replies to pictures only."""
_ONCE = PointerSettings(max_askings=1)
_SAMPLE, _CLUSTER = 'sample', 'cluster'
"""What a model was asked about: a sample, or all samples of a cluster (their picture)."""


class SampleRunner:
    """Makes the lines of samples: requests to the model, replies, scores; see ``work.Runner``."""

    def __init__(self, settings: RunSettings, suite: Suite) -> None:
        """Make or load the samples.

        Args:
            settings: what to run, checked.
            suite: of samples.

        Raises:
            InputError: the settings are wrong.
        """
        self._settings, self._suite = settings, suite
        self.plan = SamplePlan(settings, suite)
        self._truth = _CurrentTruth(self.plan)
        self._handed = Handed()
        self._answerer = make_answerer(settings.method, settings.method_options,
                                       _Truth(self.plan, self._handed))
        self.backend: Model | None = None
        self._chosen: _PerDomain | None = None

    def open(self, stack: ExitStack) -> None:
        """Samples need nothing but a model; contract in ``work.Runner``."""
        self._desk = _Desk(self.plan, None, stack, self._handed, self._truth)

    def load(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        """Load the model; contract in ``work.Runner``.

        Where the samples' domains have a model each, ``given`` is not used.
        """
        self.backend = self._loaded(options, given, stack)
        self._desk = _Desk(self.plan, self.backend, stack, self._handed, self._truth)
        return self.backend

    def _loaded(self, options: dict[str, Any], given: Model | None, stack: ExitStack) -> Model:
        settings, domains = self._settings, self.plan.domains
        fields = {field.name for field in settings_fields(
            type(backend_settings(settings.backend)))}
        if 'domain' in fields and not options.get('domain') and len(domains) > 1:
            own: dict[str, Model] = {}
            made: dict[str, Model] = {}
            for name in domains:
                values = {**options, 'domain': name}
                content = backend_content(settings.backend, values) or name
                if content not in made:
                    made[content] = closing(stack, make_backend(settings.backend, values))
                own[name] = made[content]
            self._chosen = _PerDomain(own)
            return self._chosen
        if given is not None:
            return given
        pointing = issubclass(answerer_class(settings.method), ask.Answerer) and any(
            sample.target is not None for sample in self.plan.items)
        if pointing:
            check_backend(settings.backend, Locate)
        model = closing(stack, make_backend(settings.backend, options, self._truth))
        if pointing:
            check_backend(settings.backend, Locate, model)
        return model

    def session(self) -> dict[str, Any]:
        """Empty: samples add nothing to the record of a session."""
        return {}

    def begin(self, store: RunStore, backend: Model | None, stack: ExitStack) -> None:
        """Contract in ``work.Runner``."""
        self._desk = _Desk(self.plan, backend, stack, self._handed, self._truth)

    def batches(self, missing: Sequence[Sample]) -> Iterable[Sequence[Sample]]:
        """Neighbours of one cluster and domain."""
        groups = itertools.groupby(missing, key=shared)
        return (tuple(group) for _, group in groups)

    def make(self, batch: Sequence[Sample], cancelled: Callable[[], bool]) -> Sequence[Line]:
        """Answer, read and score a batch; contract in ``work.Runner``."""
        first, asked = batch[0], batch
        if self._settings.record or self._settings.record_images:
            # A recording is replayed by the request, so that none may be recorded in parts.
            asked = self.plan.clusters[shared(first)]
        self._truth.batch = asked
        if self._chosen is not None:
            self._chosen.use(first.domain)
        self._desk.start(first, self._current_model)
        before = self.backend.usage if self.backend is not None else None
        started, error = time.monotonic(), ''
        try:
            replies = self._answerer.answer(self._handed.hand_out(asked),
                                            sealed(Desk, self._desk))
            if len(replies) != len(asked):
                raise BackendError(f'method {self._settings.method!r} gave {len(replies)} replies '
                                   f'to {len(asked)} samples')
            replies = [self._desk.drawn(sample) if reply is GUESS else reply
                       for sample, reply in zip(asked, replies, strict=True)]
        except (CancelledError, InputError):
            raise
        except SightplanError as failure:
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
        truth = self.plan.truth(sample)
        found, error = self._scored(sample, truth, reply)
        return {
            'id': sample.id, 'suite': self._suite.name, 'kind': 'sample',
            'cluster': sample.cluster,
            'domain': load_domain(sample.domain).name if sample.domain else '',
            'split': sample.split,
            'method': self._settings.method, 'model': self._model_of(sample),
            'seed': self._settings.seed, **found, 'error': error or None,
            'usage': None if spent is None else dataclasses.asdict(spent), 'seconds': seconds,
            'reply': reply.text, 'p_yes': reply.p_yes, 'p_no': reply.p_no,
            'p_right': reply.probability, 'truth': truth, 'details': sample.details}

    def _scored(self, sample: Sample, truth: Any, reply: SampleReply) -> tuple[Line, str]:
        """What ``score_reply`` gives, and why the sample is not scored; '' if it is.

        An exception that nobody expected, in a suite or because of a reply, costs this sample
        alone.
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
        backend = self._chosen.current if self._chosen is not None else self.backend
        return '' if backend is None else backend.name

    def _model_of(self, sample: Sample) -> str:
        """Exact name of what replied to a sample: of all models, where several had a part in it.

        A sample that no model was asked about bears the name of the run's model.
        """
        return self._desk.answered_by(sample) or self._current_model

    def before(self, line: Line) -> None:
        """Nothing else is kept of a sample."""


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


class _Desk:
    """The tools of answerers; contract in ``agent.answerer.Desk``.

    Its public methods take samples as they were handed out (``handing``).
    """

    def __init__(self, plan: SamplePlan, backend: Model | None, stack: ExitStack,
                 handed: Handed, truth: _CurrentTruth) -> None:
        self._plan, self._backend, self._stack = plan, backend, stack
        self._handed, self._truth = handed, truth
        self._planner: SymbolicPlanner | None = None
        self._others: dict[str, Model] = {}
        self._answered: dict[tuple[str, str], dict[str, None]] = {}
        self._current_model = ''
        self._grounder = None if backend is None else BackendGrounder(backend, partial=True)

    def start(self, sample: Sample, model: str) -> None:
        """A batch begins: a backend that keeps a history forgets the one before.

        Args:
            sample: the first of the batch.
            model: exact name of the run's model for its domain, '' where none is needed.
        """
        self._answered.clear()
        self._current_model = model
        if self._grounder is not None:
            self._grounder.start_episode(sample.cluster, sample.split)

    def answered_by(self, sample: Sample) -> str:
        """Exact names of the models that were asked about a sample of the batch, or its picture.

        A backend may locate, choose or tell things apart by a model of its own for that.
        """
        return ' + '.join({**self._answered.get((_CLUSTER, sample.cluster), {}),
                           **self._answered.get((_SAMPLE, sample.id), {})})

    def _note(self, sample: Sample, model: str, of: str = _SAMPLE) -> None:
        """Keep the name of a model that is asked about a sample, or about all of its cluster."""
        if self._backend is not None and model == self._backend.name:
            model = self._current_model
        key = of, sample.cluster if of == _CLUSTER else sample.id
        self._answered.setdefault(key, {})[model] = None

    def guess(self, sample: Sample) -> SampleReply:
        """Contract in ``agent.answerer.Desk``."""
        return GUESS

    def drawn(self, sample: Sample) -> SampleReply:
        """What a guess about a sample of the plan comes to."""
        return random_reply(self._plan.suite, sample, self._plan.settings.seed)

    def ask(self, samples: Sequence[Sample], prompt: str, suite_prompt: str,
            ) -> list[SampleReply]:
        """Contract in ``agent.answerer.Desk``."""
        replies: list[SampleReply] = []
        real = map(self._handed.real, samples)
        for (yes_no, _), shown in itertools.groupby(real, key=_shown):
            group = tuple(shown)
            replies += (self._ask_questions(group, prompt) if yes_no else
                        each(group, lambda sample: self._ask_one(sample, prompt, suite_prompt)))
        return replies

    def _ask_one(self, sample: Sample, prompt: str, suite_prompt: str) -> SampleReply:
        """Ask about what is no yes/no question about one picture."""
        if sample.target is not None:
            return self._locate(sample, _ONCE)
        writes = can_ask(self._model(), Generate)
        if sample.questions and not writes:
            return self._ask_parts(sample, prompt)
        if sample.choices and not writes and can_ask(self._model(), Choose):
            return self._ask_choices(sample)
        return self._ask_text(sample, suite_prompt)

    def read(self, sample: Sample, reply: SampleReply) -> tuple[Any, str]:
        """Contract in ``agent.answerer.Desk``."""
        try:
            return self._plan.suite.read(reply.text, self._handed.real(sample)), ''
        except Unread as unread:
            return None, str(unread)

    def marked(self, sample: Sample, boxes: Sequence[Region]) -> Sample:
        """Contract in ``agent.answerer.Desk``."""
        def drawn(picture: Picture) -> Picture:
            return dataclasses.replace(picture, name=f'{picture.name} with marks', load=Sealed(
                lambda: numbered(picture.load(), boxes)))
        return dataclasses.replace(sample, parts=tuple(
            drawn(part) if isinstance(part, Picture) else part for part in sample.parts))

    def _other(self, words: str) -> tuple[str, Model]:
        """Name and backend of a model that a method names, loaded once; the run's for ''.

        Raises:
            InputError: there is no such backend or option.
        """
        if not words:
            return self._plan.settings.backend, self._model()
        if words not in self._others:
            name, *options = words.split()
            if not all('=' in option for option in options):
                raise InputError(f'{words!r} names no model; write a backend and options, such as '
                                 '"transformers model=DIR"')
            self._others[words] = closing(self._stack, make_checked_backend(name, dict(
                option.split('=', 1) for option in options)))
        return words.split()[0], self._others[words]

    def ask_query(self, sample: Sample, query: Query[R]) -> R:
        """Contract in ``agent.answerer.Desk``."""
        model = self._model()
        check_backend(self._plan.settings.backend, type(query), model)
        if traits_of(model).truth and not any(isinstance(part, Picture) for part in sample.parts):
            raise self._never_blind()
        self._note(self._handed.real(sample), part_name(model, type(query)))
        return ask_one(model, query, self._plan.settings.propose_timeout_s)

    def locate(self, sample: Sample, settings: PointerSettings, backend: str = '') -> SampleReply:
        """Contract in ``agent.answerer.Desk``."""
        return self._locate(self._handed.real(sample), settings, backend)

    def _locate(self, sample: Sample, settings: PointerSettings, other: str = '') -> SampleReply:
        target, (name, backend) = sample.target, self._other(other)
        assert target is not None, 'only a sample that asks for a place is located'
        picture = next((part for part in sample.parts if isinstance(part, Picture)), None)
        if picture is None and traits_of(backend).truth:
            raise self._never_blind()
        pointing = plugins.part('locator', 'sightplan_belief').BackendLocator(name, backend)
        self._note(sample, pointing.model)
        found = pointing.locate(
            _GREY if picture is None else picture.load(), [target], settings,
            depth_m=picture.load_depth() if picture and picture.load_depth else None,
            camera=picture.camera if picture else None, start=sample.start,
            timeout_s=self._plan.settings.propose_timeout_s)[0]
        return SampleReply(found.text, regions=found.regions, probability=found.probability,
                           unread=found.unread, unknown=found.unknown)

    def propose_goal(self, sample: Sample, seen: Sequence[Instance], tries: int) -> str:
        """Contract in ``agent.answerer.Desk``."""
        sample = self._handed.real(sample)
        self._note(sample, self._current_model)
        return propose_goal(self._model(), _picture(sample).load(), seen,
                            str(sample.details['instruction']), tries,
                            self._plan.settings.propose_timeout_s)

    def tell_apart(self, sample: Sample, looks: int, backend: str = '') -> tuple[Instance, ...]:
        """Contract in ``agent.answerer.Desk``."""
        sample = self._handed.real(sample)
        picture, settings = _picture(sample), self._plan.settings
        name, finds = self._other(backend)
        check_backend(name, Detect, finds)
        image = picture.load()
        self._note(sample, part_name(finds, Detect), _CLUSTER)
        depth_m = picture.load_depth() if picture.load_depth else None
        return instances_of(ask_one(finds, Detect(image, depth_m, attempt),
                                    settings.propose_timeout_s) for attempt in range(looks))

    def plan(self, task: PlanningTask) -> PlanningResult:
        """Contract in ``agent.answerer.Desk``."""
        from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
        settings = self._plan.settings
        if self._planner is None:
            self._planner = self._stack.enter_context(
                FastDownwardPlanner(PlannerSettings(search=settings.planner_search)))
        return self._planner.plan(task, settings.planner_timeout_s)

    def _never_blind(self) -> InputError:
        return InputError(f'backend {self._plan.settings.backend!r} answers from the truth '
                          'whatever is shown, so that nothing is blind about it; choose another '
                          'backend or method')

    def _model(self) -> Model:
        if self._backend is None:
            raise BackendError('this method was not expected to ask a model (its Answerer '
                               'declares needs_model = False)')
        return self._backend

    def _ask_questions(self, samples: Sequence[Sample], name: str) -> list[SampleReply]:
        """Yes/no questions about one picture, or about none."""
        backend, timeout_s = self._model(), self._plan.settings.grounder_timeout_s
        for sample in samples:
            self._note(sample, self._current_model)
        prompt = yes_no_prompt(name, samples[0].domain)
        picture = next((part for part in samples[0].parts if isinstance(part, Picture)), None)
        questions = [_question(sample) for sample in samples]
        if picture is None:
            if traits_of(backend).truth:
                raise self._never_blind()
            if can_ask(backend, Generate):
                texts = {sample.id: (prompt.before_image, prompt.after_image,
                                     prompt.ask(question.text))
                         for sample, question in zip(samples, questions, strict=True)}
                return each(samples, lambda sample: SampleReply(ask_one(backend, Generate(
                    prompt.system, tuple(text for text in texts[sample.id] if text),
                    prompt.max_tokens), timeout_s).text))
        check_backend(self._plan.settings.backend, YesNo, backend)
        assert self._grounder is not None
        if refused := {sample.id: why for sample in samples if in_words(sample)
                       and (why := self._grounder.why_unable(_question(sample)))}:
            able = [sample for sample in samples if sample.id not in refused]
            replies = iter(self._ask_questions(able, name) if able else [])
            return [SampleReply(unread=refused[sample.id]) if sample.id in refused
                    else next(replies) for sample in samples]
        self._truth.batch = samples
        missing = SampleReply()
        answers: Sequence[Answer | None]
        try:
            image = _GREY if picture is None else picture.load()
            answers = self._grounder.ground(Observation(image), questions, timeout_s, prompt)
        except InputError:
            raise
        except SightplanError as error:  # what was answered before it is paid for
            answers, missing = error.partial or [None] * len(samples), failed(error)
        return [missing if answer is None else SampleReply(answer.text, answer.p_yes, answer.p_no)
                for answer in answers]

    def _ask_parts(self, sample: Sample, name: str) -> SampleReply:
        """The reply that a suite makes of the answers to a sample's yes/no questions."""
        picture = next((part for part in sample.parts if isinstance(part, Picture)), None)
        if picture is None and traits_of(self._model()).truth:
            raise self._never_blind()
        assert self._grounder is not None
        self._note(sample, self._current_model)
        answers = self._grounder.ground(
            Observation(_GREY if picture is None else picture.load()), sample.questions,
            self._plan.settings.grounder_timeout_s,
            yes_no_prompt(name, sample.domain))
        said = any(answer.verdict.says is not None for answer in answers)
        return SampleReply(data=answers) if said else SampleReply(answers[0].text)

    def _ask_choices(self, sample: Sample) -> SampleReply:
        """The reply that a suite makes of what was chosen."""
        return _chosen([ask_one(
            self._model(), self._choice(sample, number), self._plan.settings.propose_timeout_s)
                        for number in range(len(sample.choices))])

    def compare(self, sample: Sample, orders: str, neutral: bool) -> SampleReply:
        """Contract in ``agent.answerer.Desk``."""
        def query(first: int, second: int) -> Choose:
            return self._choice(self._plan.shown(real, first > second, neutral), 0)

        check_backend(self._plan.settings.backend, Choose, self._model())
        real = self._handed.real(sample)
        found = compare(self._model(), query, orders, self._plan.settings.propose_timeout_s)
        chances = found.probability, 1 - found.probability
        if found.agreed is None and chances[0] == chances[1]:
            return SampleReply(found.replies[0].text, unread=next(
                reply.unread for reply in found.replies if reply.unread))
        return _chosen([ChoiceReply(chances, int(chances[1] > chances[0]))])

    def _choice(self, sample: Sample, number: int) -> Choose:
        choice, backend = sample.choices[number], self._model()
        self._note(sample, part_name(backend, Choose))
        traits, pictured = traits_of(backend), any(
            isinstance(part, Picture) for part in sample.parts)
        if traits.truth and not pictured:
            raise self._never_blind()
        parts = tuple(part if isinstance(part, str) else part.load() for part in sample.parts
                      ) if traits.pixels or can_ask(backend, Generate) else ()
        return Choose(parts, choice.options, choice.subjects, choice.properties)

    def _ask_text(self, sample: Sample, name: str) -> SampleReply:
        check_backend(self._plan.settings.backend, Generate, self._model())
        prompt = self._plan.suite.prompt(name)
        self._note(sample, self._current_model)
        parts = (prompt.before, *(part if isinstance(part, str) else part.load()
                                  for part in sample.parts), prompt.after)
        return SampleReply(ask_one(self._model(), Generate(
            prompt.system, tuple(part for part in parts if not isinstance(part, str) or part),
            prompt.max_tokens), self._plan.settings.propose_timeout_s).text)


def _chosen(replies: Sequence[ChoiceReply]) -> SampleReply:
    """The reply that choices are; where nothing was chosen, what was said."""
    chances = replies[0].probabilities if len(replies) == 1 else None
    probability = None if chances is None else max(chances)
    if all(reply.chosen is None for reply in replies):
        return SampleReply(replies[0].text, probability=probability)
    return SampleReply(data=replies, probability=probability)


def _picture(sample: Sample) -> Picture:
    """The picture in which things are told apart.

    Raises:
        InputError: the sample has none.
    """
    picture = next((part for part in sample.parts if isinstance(part, Picture)), None)
    if picture is None:
        raise InputError('the sample has no picture in which to tell things apart')
    return picture


def _shown(sample: Sample) -> tuple[bool, str]:
    """Whether a sample is a yes/no question about at most one picture; and which."""
    pictures = [part.name for part in sample.parts if isinstance(part, Picture)]
    return asks_yes_no(sample), pictures[0] if pictures else ''


def _question(sample: Sample) -> Question:
    assert sample.question is not None, 'only yes/no questions are asked as such'
    return sample.question


class _PerDomain:
    """A model of which each domain has its own, as one."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = models
        self.current: Model = next(iter(models.values()))

    def use(self, domain: str) -> None:
        """What follows is about a domain."""
        self.current = self._models.get(domain, self.current)  # questions in words have none

    @property
    def _all(self) -> list[Model]:
        return list({id(model): model for model in self._models.values()}.values())

    @property
    def accepts(self) -> frozenset[type[Query[Any]]]:
        return self.current.accepts

    @property
    def traits(self) -> Traits:
        return traits_of(self.current)

    @property
    def name(self) -> str:
        return ', '.join(dict.fromkeys(model.name for model in self._all))

    @property
    def usage(self) -> Usage | None:
        known = [usage for model in self._all if (usage := model.usage) is not None]
        return sum(known, Usage()) if known else None

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        return self.current.ask(queries, deadline)

    def part_name(self, kind: type[Query[Any]]) -> str:
        return part_name(self.current, kind)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        start_episode(self.current, episode_id, split)
