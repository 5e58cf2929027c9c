"""The tools of methods for samples, as a run has them; contract in ``agent.context.Context``."""

from __future__ import annotations

import dataclasses
import random
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from sightplan.agent.context import LOOK, AskedModel, Reason, SubjectModel
from sightplan.agent.sample_asking import asks_yes_no
from sightplan.grounding import BackendGrounder
from sightplan.model import (
    BackendError,
    InputError,
    Observation,
    PlanningResult,
    PlanningTask,
    SymbolicPlanner,
)
from sightplan.model.logged import without_seed
from sightplan.model.option_pairs import read_options
from sightplan.model.query import (
    Deadline,
    Model,
    Query,
    Reply,
    part_name,
    start_episode,
    traits_of,
)
from sightplan.model.sample import Picture, Sample
from sightplan.model.sealing import sealed
from sightplan.queries import Choose, Detect, DetectInstances, Generate, YesNo
from sightplan.runs.handing import Handed
from sightplan.runs.samples import SamplePlan
from sightplan.runs.work import closing
from sightplan.vlm.api import BACKENDS, check_backend, make_checked_backend

_SAMPLE, _CLUSTER = 'sample', 'cluster'
"""Kinds of subjects that a model is asked about: a sample, or the picture of a cluster."""


class BatchTruth(Protocol):
    """The truth about the samples that a model is asked about, for simulated models."""

    batch: Sequence[Sample]


class SampleTools:
    """The tools of answerers; contract in ``agent.context.Context``.

    Its public methods take samples as they were handed out (``handing``).
    """

    def __init__(self, plan: SamplePlan, backend: Model | None, stack: ExitStack,
                 handed: Handed, truth: BatchTruth) -> None:
        self._plan, self._stack, self._handed, self._truth = plan, stack, handed, truth
        self._batch: Sequence[Sample] = ()
        self._model = None if backend is None else BackendGrounder(backend)
        self._planner: SymbolicPlanner | None = None
        self._others: dict[str, BackendGrounder] = {}
        self._answered: dict[tuple[str, str], dict[str, None]] = {}
        self._current_model = ''
        self._rng: random.Random | None = None
        self._told = ''

    def start(self, batch: Sequence[Sample], model: str) -> None:
        """A batch begins: a backend that keeps a history forgets the one before.

        Args:
            batch: its samples.
            model: exact name of the run's model for its domain, '' where none is needed.
        """
        self._answered.clear()
        self._current_model = model
        self._rng = None
        self._batch = batch
        self._told = repr([part for sample in batch for part in sample.parts
                           if isinstance(part, str)])
        if self._model is not None:
            start_episode(self._model, batch[0].cluster, batch[0].split)

    def answered_by(self, sample: Sample) -> str:
        """Exact names of the models that were asked about a sample of the batch, or its picture.

        A backend may locate, choose or tell things apart by a model of its own for that.
        """
        return ' + '.join({**self._answered.get((_CLUSTER, sample.cluster), {}),
                           **self._answered.get((_SAMPLE, sample.id), {})})

    @property
    def rng(self) -> random.Random:
        """Contract in ``Context``: one generator for the samples of a batch."""
        if self._rng is None:
            self._rng = random.Random(f'answerer/{self._plan.settings.seed}/{self._told}')
        return self._rng

    @property
    def answering_model(self) -> str:
        """Contract in ``Context``."""
        return without_seed(self._current_model)

    def asking(self, about: Observation | Sample, backend: str = '',
               reason: Reason = LOOK) -> AskedModel:
        """Contract in ``Context``."""
        if not isinstance(about, Sample):
            raise InputError('a method for samples asks about a sample (give the sample, not its '
                             'picture)')
        name, asked = self._of(backend)
        model: AskedModel = sealed(AskedModel, SubjectModel(
            asked, name, self._plan.settings.propose_timeout_s,
            lambda queries, deadline: self._ask(about, name, asked, queries, deadline)))
        return model

    def plan(self, task: PlanningTask) -> PlanningResult:
        """Contract in ``Context``."""
        from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
        settings = self._plan.settings
        if self._planner is None:
            self._planner = self._stack.enter_context(
                FastDownwardPlanner(PlannerSettings(search=settings.planner_search)))
        return self._planner.plan(task, settings.planner_timeout_s)

    def _ask(self, about: Sample, backend: str, model: BackendGrounder,
             queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask a model about a sample, and keep its name.

        Args:
            about: the sample, as it was handed out.
            backend: name of the model's backend.
            model: the model.
            queries: what it is asked.
            deadline: of the method; without a limit the run's counts.

        Raises:
            InputError: the model answers no such queries, or from the truth, which no method
                that shows no picture may use.
            SightplanError: see ``Model.ask``.
        """
        real = self._handed.real(about)
        for query in queries:
            if traits_of(model).truth and not isinstance(query, Generate) and not any(
                    isinstance(part, Picture) for part in about.parts):
                raise InputError(f'backend {self._plan.settings.backend!r} answers from the truth '
                                 'whatever is shown, so that nothing is blind about it; choose '
                                 'another backend or method')
            kind = Detect if isinstance(query, DetectInstances) else type(query)
            check_backend(backend, kind, model)
        yes_no, settings = bool(queries) and isinstance(queries[0], YesNo), self._plan.settings
        self._truth.batch = self._about_same(real, yes_no)
        timeout_s = deadline.timeout_s
        if timeout_s is None:
            timeout_s = settings.grounder_timeout_s if yes_no else settings.propose_timeout_s
        try:
            return model.ask([self._whole(query) for query in queries],
                             dataclasses.replace(deadline, timeout_s=timeout_s))
        finally:  # afterwards: a model of another node knows by its replies what answers a kind
            for query in queries:
                self._note(real, part_name(model, type(query)),
                           _CLUSTER if isinstance(query, DetectInstances | Detect) else _SAMPLE)

    def _about_same(self, sample: Sample, yes_no: bool) -> Sequence[Sample]:
        """The samples of the batch that show what a sample shows: the truth is about these.

        Args:
            sample: one of the batch.
            yes_no: whether only yes/no questions are meant, where there are any.
        """
        shown = [_pictures(one) for one in self._batch if one.id == sample.id]
        same = [one for one in self._batch if _pictures(one) in shown]
        return ([one for one in same if asks_yes_no(one)] if yes_no else []) or same or self._batch

    def _whole(self, query: Query[Any]) -> Query[Any]:
        """Return a query with the subjects and properties of its choice, hidden from methods."""
        if not isinstance(query, Choose) or (
                choice := self._handed.choice(query.subjects)) is None:
            return query
        return dataclasses.replace(query, subjects=choice.subjects, properties=choice.properties)

    def _note(self, sample: Sample, model: str, of: str = _SAMPLE) -> None:
        """Keep the name of a model that is asked about a sample, or about all of its cluster."""
        if self._model is not None and model == self._model.name:
            model = self._current_model
        key = of, sample.cluster if of == _CLUSTER else sample.id
        self._answered.setdefault(key, {})[model] = None

    def _of(self, words: str) -> tuple[str, BackendGrounder]:
        """Name and model of a backend that a method names, loaded once; the run's for ''.

        Raises:
            InputError: there is no such backend or option.
        """
        if not words:
            if self._model is None:
                raise BackendError('this method was not expected to ask a model (its Answerer '
                                   'declares needs_model = False)')
            return self._plan.settings.backend, self._model
        if words not in self._others:
            try:
                name, *options = shlex.split(words)
            except ValueError as error:
                raise InputError(f'{words!r} names no model ({error})') from error
            if not all('=' in option for option in options):
                raise InputError(f'{words!r} names no model; write a backend and options, such as '
                                 '"transformers model=DIR"')
            given = read_options(options, BACKENDS.module(name).Settings, f'backend {name!r}')
            self._others[words] = BackendGrounder(closing(
                self._stack, make_checked_backend(name, given)))
        return shlex.split(words)[0], self._others[words]


def _pictures(sample: Sample) -> list[str]:
    return [part.name for part in sample.parts if isinstance(part, Picture)]
