"""A run of samples: how they are loaded, read and scored, and its plan; contract in ``work``."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import random
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sightplan
from sightplan.agent import answerer_class, answerer_settings
from sightplan.agent.grounded_plans import BY_MODEL
from sightplan.agent.method_choices import MethodChoices
from sightplan.agent.methods import ask
from sightplan.agent.methods._instructed import has_instruction
from sightplan.agent.sample_asking import asks_yes_no, in_words, yes_no_prompt
from sightplan.domains import Domain, load_domain
from sightplan.domains.prompts import has_prompt_without_domain, prompt_without_domain
from sightplan.grounding import instructions
from sightplan.metrics.measures import scored
from sightplan.model import (
    Answer,
    Atom,
    InputError,
    MaskSource,
    SightplanError,
    TruthSource,
    Verdict,
    identity_values,
    prompt_id,
)
from sightplan.model.logged import LoggedAnswer
from sightplan.model.query import Model
from sightplan.model.reply_text import after_thoughts
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.model.settings import picked
from sightplan.queries import Choose, Detect, Generate, Locate, YesNo
from sightplan.queries.choose import PreferenceSource
from sightplan.records import RunStore
from sightplan.runs import protocols
from sightplan.runs.method_check import check_writes
from sightplan.runs.settings import ALL_SPLITS, RunSettings, prompts_folder
from sightplan.runs.spread import Kind, spread
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Samples, Unread
from sightplan.runs.suite_prompts import Names, SuitePrompts, names_of
from sightplan.runs.suite_rules import ALL_SAMPLES, SAMPLES
from sightplan.vlm.api import (
    answers_kind,
    backend_content,
    backend_reads_prompt,
    backend_settings,
    backends_that_answer,
    check_backend,
    resolved_options,
)

UNKNOWN_WORDS = 'unknown_words'
"""Cause of a sample of which the model named no place because it does not know the words."""

# ------------------------------------------------------------------------------------- scoring


def read_reply(suite: Suite, sample: Sample, reply: SampleReply) -> tuple[Any, str]:
    """Return the answer that a suite reads from a reply.

    The suite gets the text of a reply without the model's thoughts.

    Returns:
        the answer as plain JSON data, None if it cannot be read; and why not, '' if it can. The
        answer is the list of regions where the backend read regions, what ``Suite.compose`` makes
        of the reply's data where it has some (a yes/no answer without text is data, too), else
        what ``Suite.read`` gives for its text.
    """
    if reply.unread:
        return None, reply.unread
    if reply.regions is not None:
        return [region.to_json() for region in reply.regions], ''
    text, said, data = after_thoughts(reply.text), reply.answer, reply.data
    if said is not None and said.verdict is not Verdict.UNPARSED and not reply.text:
        data = (said,)
    if data is None and reply.text.strip() and not text.strip():
        return None, 'the reply ends within its thoughts'
    try:
        return (suite.read(text, sample) if data is None
                else suite.compose(sample, data)), ''
    except Unread as unread:
        why = '' if said is None or said.verdict is not Verdict.UNKNOWN else said.reason
        return None, f'cannot tell: {why}' if why else str(unread) or 'no valid answer'


def score_reply(suite: Suite, sample: Sample, truth: Any, reply: SampleReply) -> dict[str, Any]:
    """Read a reply and score it: the same for a run and for a file of predictions.

    Returns:
        ``measures``, ``cause``, ``answer``, ``unread`` and ``unknown`` of the sample's line.

    Raises:
        InputError: the suite gives a measure a value that is none of its kind.
    """
    answer, unread = read_reply(suite, sample, reply)
    found = suite.score(sample, answer, truth, reply)
    for measure in suite.measures(SAMPLES):
        if why := measure.why_unfit(found.measures.get(measure.name)):
            raise InputError(f'suite {suite.name}: score() of sample {sample.id!r}: {why}')
    cause = UNKNOWN_WORDS if reply.unknown and not reply.regions else found.cause
    return {'measures': dict(found.measures), 'cause': cause, 'answer': answer,
            'unread': unread, 'unknown': list(reply.unknown)}


def _kind(suite: Suite, sample: Sample) -> Kind:
    """Return the kind of a sample: the details of it that its suite names."""
    values = (sample.details.get(name) for name in suite.sample_kinds)
    return tuple(float(value) if isinstance(value, int | float) else str(value)
                 for value in values)


def truth_reply(suite: Suite, sample: Sample, truth: Any) -> SampleReply:
    """Return the true reply to a sample (``Suite.write``).

    A yes/no answer is certain, so that its probabilities are 1 and 0.
    """
    text = suite.write(truth, sample)
    if sample.question is None:
        return SampleReply(text)
    return SampleReply.of_answer(Answer(text, float(bool(truth)), float(not truth)))


def random_reply(suite: Suite, sample: Sample, seed: int) -> SampleReply:
    """A valid reply at random (``Suite.guess``), always the same one for a seed and a sample.

    Raises:
        InputError: the suite cannot guess.
    """
    return SampleReply(suite.guess(sample, random.Random(f'{seed}\x1f{sample.id}')))


# ------------------------------------------------------------------------------------ the plan


class SamplePlan:
    """The samples of a run; contract in ``work.Plan``.

    Attributes:
        kind: ``samples``.
        settings: settings of the run, with what its protocol sets.
        suite: suite of the samples.
        items: samples in order.
        skipped: samples that cannot be used, and why.
        notes: empty.
        clusters: the samples of each batch, by the key ``shared``.
    """

    kind = SAMPLES

    def __init__(self, settings: RunSettings, suite: Suite, model: Model | None = None) -> None:
        """Make or load the samples.

        Args:
            settings: what to run.
            suite: of samples.
            model: that will answer, where it is not the one that the settings name.

        Raises:
            InputError: unknown split or method, a setting that is about episodes, data that
                cannot be used, or a model that answers no such samples.
        """
        settings = protocols.apply(settings)
        self.settings, self.suite = settings, suite
        self.notes: dict[str, Any] = {}
        method = answerer_settings(settings.method, settings.method_options)
        if picked(MethodChoices, method).reader == BY_MODEL:
            check_writes(settings, 'reader')
        _check(settings, suite)
        cls = answerer_class(settings.method)
        if suite.asks_for_text and issubclass(cls, ask.Answerer) and not cls.tells_apart:
            self._check_writes(model)
        self.loaded = load_samples(suite, settings.split, settings.suite_options)
        self.items = [sample for part in self.loaded for sample in part.items]
        self.skipped = list(dict.fromkeys(
            text for part in self.loaded for text in part.skipped))  # once for all splits
        if not self.items:
            raise InputError(f'suite {suite.name} ({suite.source}), split {settings.split!r}: '
                             'there is not one sample'
                             + ''.join(f'\n  {text}' for text in self.skipped))
        if settings.episodes > len(self.items):
            raise InputError(f'episodes = {settings.episodes}, but split {settings.split!r} of '
                             f'suite {suite.name} has {len(self.items)} samples; ask for fewer')
        if settings.episodes:
            kinds = [(sample.split, _kind(suite, sample)) for sample in self.items]
            self.items = [self.items[index] for index in sorted(spread(kinds, settings.episodes))]
        self.prompts = SuitePrompts(suite, prompts_folder(settings), self._prompts_used(),
                                    self._splits_of_places(), settings.suite_options)
        self._check_model(model)
        self.clusters: dict[tuple[str, str], list[Sample]] = {}
        for sample in self.items:
            self.clusters.setdefault(shared(sample), []).append(sample)
        self._of = {sample.id: part for part in self.loaded for sample in part.items}

    def _check_model(self, model: Model | None) -> None:
        """Check that the run's model answers what the method asks it about the samples.

        Raises:
            InputError: it does not; names those that do.
        """
        cls, name = answerer_class(self.settings.method), self.settings.backend
        if not (cls.needs_model and cls.prompt):
            return
        if any(asks_yes_no(sample) and in_words(sample) for sample in self.items):
            check_backend(name, YesNo, model)
        if issubclass(cls, ask.Answerer) and any(
                asks_for_text(sample) for sample in self.items
                if not (cls.tells_apart and has_instruction(sample))):
            self._check_writes(model)

    def _check_writes(self, model: Model | None) -> None:
        """Check that the run's model writes text.

        Raises:
            InputError: it does not; names those that do.
        """
        name = self.settings.backend
        if not answers_kind(name, Generate, model, self.settings.backend_options):
            raise InputError(
                f'backend {name!r} writes no text, and samples of suite {self.suite.name} ask for '
                'it; choose a backend that writes: '
                f'{", ".join(backends_that_answer(Generate)) or "none"} (in a suite of your own, '
                'Sample.yes_no makes yes/no questions of samples)')

    @property
    def domains(self) -> tuple[str, ...]:
        """References of the domains of the samples' questions (``Domain.reference``), in order."""
        return tuple(dict.fromkeys(sample.domain for sample in self.items if sample.domain))

    def truth(self, sample: Sample) -> Any:
        """Return the truth about a sample; only for scoring and the oracle."""
        return self._of[sample.id].truth(sample.id)

    def truth_source(self, sample: Sample) -> TruthSource | None:
        """The state that a sample's question is about; for the backend ``noisy_oracle``."""
        return self._of[sample.id].truth_source(sample)

    def mask_source(self, sample: Sample) -> MaskSource | None:
        """Return the source of masks of a sample's picture, for the backend ``noisy_locator``."""
        return self._of[sample.id].mask_source(sample)

    def preference_source(self, sample: Sample) -> PreferenceSource | None:
        """Return the source of true preferences of a sample, for the backend ``noisy_critic``."""
        return self._of[sample.id].preference_source(sample)

    def shown(self, sample: Sample, swap: bool, neutral: bool) -> Sample:
        """A sample shown the other way round, and under names that mean nothing.

        Raises:
            InputError: the suite's samples can be shown in one way only.
        """
        show = self._of[sample.id].shown
        if show is None or len(sample.choices) != 1:
            raise InputError(f'suite {self.suite.name}, split {sample.split}: its samples can be '
                             'shown in one way only; ask them with method ask')
        return show(sample, swap, neutral)

    def model_options(self) -> dict[str, Any] | None:
        """Contract in ``work.Plan``."""
        return (resolved_backend_options(self.settings, self.domains)
                if answerer_class(self.settings.method).needs_model else None)

    def identity(self, model: str | None) -> dict[str, Any]:
        """Contract in ``work.Plan``."""
        settings, cls = self.settings, answerer_class(self.settings.method)
        asked = [load_domain(name) for name in self.domains]
        words = [sample.question.text for sample in self.items
                 if sample.question is not None and in_words(sample)]
        identity: dict[str, Any] = {
            'sightplan': sightplan.__version__,
            'suite': self.suite.name,
            'kind': SAMPLES,
            'domain': ', '.join(domain.name for domain in asked),
            'protocol': settings.protocol,
            'split': settings.split,
            'samples': {'count': len(self.items), **{
                split: dict(part.identity) for split, part in zip(
                    _splits(self.suite, settings.split), self.loaded, strict=True)}},
            'questions_sha256': {
                **{domain.name: self._wording(domain) for domain in asked},
                **({NO_DOMAIN: _hash_of(words)} if words else {})},
            'method': {'name': settings.method, **dataclasses.asdict(
                answerer_settings(settings.method, settings.method_options))},
            'backend': None, 'model': model, 'prompt': None, 'seed': settings.seed}
        if cls.needs_model:
            options = resolved_backend_options(settings, self.domains)
            identity['backend'] = {'name': settings.backend, **identity_values(
                backend_settings(settings.backend, options))}
            identity['prompt'] = {'name': cls.prompt, 'sha256': {
                **{domain.name: domain.prompt_hash(cls.prompt) for domain in asked},
                **({NO_DOMAIN: yes_no_prompt(cls.prompt, '').sha256} if words else {})}}
            if any(sample.target is not None for sample in self.items):
                identity['pointing'] = backend_content(settings.backend, options, Locate)
            if any(sample.choices for sample in self.items):
                identity['choosing'] = backend_content(settings.backend, options, Choose)
            own = cls.instruction_prompt
            if own and any('instruction' in sample.details for sample in self.items):
                identity['instruction_prompt'] = {'name': own, 'sha256': hashlib.sha256(
                    self._prompt_text((own,))).hexdigest()[:12]}
            if cls.tells_apart:
                identity['detecting'] = backend_content(settings.backend, options, Detect)
                identity['instructions'] = instructions.content()
            free = [sample for sample in self.items
                    if sample.question is None and sample.target is None]
            if free:
                asked_with = sorted({names_of(cls.suite_prompt, sample) for sample in free})
                tokens = {self.prompts.prompt(names).max_tokens for names in asked_with}
                identity['suite_prompt'] = {
                    'name': cls.suite_prompt, 'sha256': hashlib.sha256(b'\n'.join(
                        map(self._prompt_text, asked_with))).hexdigest()[:12],
                    'max_tokens': max(tokens)}
            if self.prompts.origin is not None:
                identity['prompts'] = self.prompts.origin.identity()
        return identity

    def _prompt_text(self, names: Names) -> bytes:
        """Return the content of a prompt around samples, to be hashed."""
        unused = () if self.prompts.origin else ('pictures_only',)  # only folders have it
        return self.prompts.prompt(names).model_dump_json(exclude={*unused}).encode()

    def _prompts_used(self) -> tuple[Names, ...]:
        """Names of the suite's prompts that the method asks its model with, see ``names_of``."""
        cls = answerer_class(self.settings.method)
        asked: set[Names] = set()
        for sample in self.items if cls.needs_model else ():
            if cls.instruction_prompt and has_instruction(sample):
                asked.add((cls.instruction_prompt,))
            elif sample.target is None and not asks_yes_no(sample) and not (
                    cls.tells_apart and has_instruction(sample)):
                asked.add(names_of(cls.suite_prompt, sample))
        return tuple(sorted(asked))

    def _splits_of_places(self) -> tuple[str, ...]:
        """Splits whose samples ask the run's model for places."""
        asks = answerer_class(self.settings.method).needs_model
        return tuple(dict.fromkeys(sample.split for sample in self.items
                                   if asks and sample.target is not None))

    def _wording(self, domain: Domain) -> str:
        """Return the hash of the wording of a domain's questions, which the suite may change."""
        asked = [sample.question for sample in self.items
                 if sample.domain == domain.reference and sample.question is not None]
        if all(question.text == domain.question(question.atom).text for question in asked):
            return domain.question_hash
        return _hash_of(question.text for question in asked)


def _hash_of(texts: Iterable[str]) -> str:
    return hashlib.sha256('\n'.join(texts).encode()).hexdigest()[:12]


NO_DOMAIN = 'no domain'
"""Key of questions in words in the identity, in place of a domain's name."""


def asks_for_text(sample: Sample) -> bool:
    """Whether a sample can be answered by a model that writes text alone."""
    return not (asks_yes_no(sample) or sample.target is not None or sample.questions
                or sample.choices)


def shared(sample: Sample) -> tuple[str, str]:
    """Return cluster and domain of a sample, which all samples of a batch share."""
    return sample.cluster, sample.domain


def sample_answers(folder: Path) -> list[LoggedAnswer]:
    """The answers of a run of yes/no questions about atoms, to learn from (``calibrate``).

    Raises:
        InputError: there is no run, its method shows no pictures to a model, or it has no such
            answers.
    """
    store = RunStore(folder)
    identity = store.run_info()['identity']
    method = identity['method']['name']
    if not answerer_class(method).sees_pictures:
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
            Atom.parse(text), Answer.of_line(line), line['truth'], line['cluster'],
            line['cluster'], line['cluster'], domain, line['model'],
            identity['questions_sha256'][domain],
            '' if prompt is None else prompt_id(prompt['name'], prompt['sha256'][domain])))
    if not answers:
        raise InputError(f'{folder}: there is not one answer to a yes/no question about an atom '
                         '(name a run of suite predicates)')
    return answers


def load_samples(suite: Suite, split: str, options: Mapping[str, Any]) -> list[Samples]:
    """The samples of a split, or of each one ("all", "samples"), as the suite makes them.

    Raises:
        InputError: there is no such split, or the suite cannot make it.
    """
    if options and suite.settings is None:
        raise InputError(f'suite {suite.name} takes no options (it has no settings); leave out '
                         f'{", ".join(options)}')
    loaded = [_made(suite, one, options) for one in _splits(suite, split)]
    seen: set[str] = set()
    for sample in itertools.chain.from_iterable(part.items for part in loaded):
        if sample.id in seen:
            raise InputError(f'suite {suite.name}: two samples are called {sample.id!r}; give '
                             f'each an id of its own')
        seen.add(sample.id)
    for part in loaded:
        _check_samples(suite, part)
    return loaded


def _made(suite: Suite, split: str, options: Mapping[str, Any]) -> Samples:
    """The samples of a split.

    Raises:
        InputError: the suite cannot make it, or its code fails; then says where.
    """
    try:
        made = suite.samples(split, options)
    except (SightplanError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise InputError(f'suite {suite.name}: samples() failed{_place(suite, error)}: '
                         f'{type(error).__name__}: {error}') from error
    if not isinstance(made, Samples):
        raise InputError(f'suite {suite.name}: samples() gives a {type(made).__name__}; return '
                         'what Samples.of(pairs) gives')
    return made


def _place(suite: Suite, error: Exception) -> str:
    """Return the line in a suite's own files that raised an exception: `` at photos.py:18``.

    The result is '' if no file of the suite is in the traceback.
    """
    own = [frame for frame in traceback.extract_tb(error.__traceback__)
           if suite.folder in Path(frame.filename).resolve().parents]
    return f' at {Path(own[-1].filename).name}:{own[-1].lineno}' if own else ''


_MOST_NAMED = 5
"""Faults of one kind that an error names; it counts the others."""


def _check_samples(suite: Suite, part: Samples) -> None:
    """Check what would fail in the middle of a run, or be scored wrongly.

    Raises:
        InputError: a picture's file is missing or empty, or a yes/no question in words has
            another truth than True and False; names sample and file.
    """
    wrong: dict[str, str] = {}
    for sample in part.items:
        truth = part.truth(sample.id) if in_words(sample) else True
        if not isinstance(truth, bool):
            raise InputError(f'suite {suite.name}: sample {sample.id!r} is a yes/no question, and '
                             f'its truth is {truth!r}; give True or False')
        for picture in sample.parts:
            if isinstance(picture, Picture) and picture.file is not None:
                file = str(picture.file)
                if file not in wrong and (why := _unusable(picture.file)):
                    wrong[file] = f'{file}: {why} (picture of sample {sample.id!r})'
    if wrong:
        raise InputError('\n'.join([*itertools.islice(wrong.values(), _MOST_NAMED), *(
            [f'and {len(wrong) - _MOST_NAMED} more pictures'] if len(wrong) > _MOST_NAMED
            else [])]))


def _unusable(picture: Path) -> str:
    """Return why a file cannot be a picture (empty or inaccessible); '' if it may be one."""
    try:
        return '' if picture.stat().st_size else 'is empty; put the picture there'
    except OSError as error:
        return f'cannot be read ({error.strerror}); put the picture there, or correct the path'


def resolved_backend_options(settings: RunSettings, domains: Sequence[str]) -> dict[str, Any]:
    """The backend's options, with what they leave open and the run decides.

    Raises:
        InputError: unknown backend, unknown option or bad value.
    """
    prompt = answerer_class(settings.method).prompt
    loaded = [load_domain(name) for name in domains]
    reasoning = (loaded[0].grounding_prompt(prompt).reasoning if loaded else
                 has_prompt_without_domain(prompt) and prompt_without_domain(prompt).reasoning)
    return resolved_options(settings.backend, settings.backend_options, settings.seed, reasoning,
                            loaded[0] if len(loaded) == 1 else None)


def _splits(suite: Suite, split: str) -> tuple[str, ...]:
    every = (ALL_SPLITS, ALL_SAMPLES)
    if split not in (*suite.splits, *every):
        raise InputError(f'suite {suite.name} has no split {split!r} of samples (choose one of '
                         f'{", ".join(suite.splits)}, or {ALL_SAMPLES} for all samples)')
    return suite.splits if split in every else (split,)


_OF_EPISODES = ('problems', 'domain_file', 'max_actions', 'failure_probability',
                'answers_log', 'bags', 'bags_kept', 'world_options', 'answers', 'stop_at_goal',
                'privileged', 'goal')
"""Settings that mean nothing to samples."""


def _check(settings: RunSettings, suite: Suite) -> None:
    for name, default in ((f.name, f.default) for f in dataclasses.fields(RunSettings)
                          if f.name in _OF_EPISODES):
        value = getattr(settings, name)
        if value != (default if default is not dataclasses.MISSING else {}):
            raise InputError(f'{name} = {value!r} is about episodes, and split {settings.split!r} '
                             f'of suite {suite.name} has samples; leave it out')
