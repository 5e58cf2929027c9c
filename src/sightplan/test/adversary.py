"""A method that cheats: it pries into all that it is handed, to find out which problem it has.

``reachable`` walks from an object to all that Python finds from it: attributes, private ones too,
slots, properties, ``repr``, elements, closures, defaults, ``__self__`` of bound methods, arguments
of partial functions, frames of generators, what arrays are views of, and weak references.

It stops where an import would get as far: at modules, classes and globals, and at ``Domain``,
which is what ``load_domain`` gives to everybody, with all of a domain's problems and without a
word on which of them is played. Nor does it go through the interpreter's frames.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import itertools
import random
import re
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from sightplan.agent.answerer import AnswererBase
from sightplan.agent.asking import ask_atoms, detect_instances
from sightplan.agent.context import Context, WorldContext
from sightplan.agent.policy import Act, Decision, PolicyBase, Stop
from sightplan.agent.sample_asking import (
    ask_samples,
    compare_choices,
    instances_in,
    marked,
    task_of,
)
from sightplan.domains import Domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import (
    Action,
    AskPurpose,
    Feedback,
    Form,
    Problem,
    Region,
    SightplanError,
    StopReason,
)
from sightplan.model.sample import GUESS, Picture, Sample, SampleReply

PLAIN = (str, bytes, int, float, complex, bool, type(None), enum.Enum, PurePath, re.Pattern)
EVERYBODYS = (types.ModuleType, type, types.CodeType, types.GetSetDescriptorType,
              types.MemberDescriptorType, Domain)
TRIALS, SEEDS = range(3), range(3)
"""Of a run, that the adversary tries: more than runs that are tested have."""


def reachable(*roots: object) -> list[Any]:
    """All objects that can be found from the given ones, each once.

    What a stranger leads to is not looked at, unless it is handed over itself: a world has
    everything, and that it was found is bad enough.
    """
    found: dict[int, Any] = {}
    left = deque(roots)
    while left:
        one = left.popleft()
        if id(one) in found or isinstance(one, EVERYBODYS):
            continue
        found[id(one)] = one  # held, so that no other object gets its id
        if not isinstance(one, PLAIN) and (not _is_strange(one)
                                           or any(one is root for root in roots)):
            left.extend(_next(one))
    return list(found.values())


def _next(one: Any) -> Iterator[Any]:
    """What one step leads to."""
    if isinstance(one, Mapping):
        yield from list(one)
        yield from list(one.values())
    elif isinstance(one, (list, tuple, set, frozenset, deque, dict)):
        yield from list(one)
    elif isinstance(one, np.ndarray):
        yield one.base
        yield one.dtype.metadata
        return
    elif isinstance(one, memoryview):
        yield one.obj
    elif isinstance(one, types.FunctionType):
        yield from (cell.cell_contents for cell in one.__closure__ or () if _filled(cell))
        yield from (one.__defaults__, one.__kwdefaults__, vars(one))
        return  # its other attributes are its module's globals, and code
    elif isinstance(one, (types.MethodType, types.BuiltinMethodType)):
        yield from (one.__self__, getattr(one, '__func__', None))
    elif isinstance(one, functools.partial):
        yield from (one.func, one.args, one.keywords)
    elif isinstance(one, types.GeneratorType):
        yield one.gi_frame and one.gi_frame.f_locals
    elif isinstance(one, weakref.ref):
        yield from (one(), one.__callback__)
    elif isinstance(one, random.Random):
        yield one.getstate()
    yield getattr(one, '__dict__', None)
    yield _weak_reference(one)
    yield from _attributes(one)
    if type(one).__module__.partition('.')[0].startswith('sightplan'):
        yield repr(one)


def _weak_reference(one: object) -> object:
    """Return the first weak reference to an object; None where it has none."""
    try:
        return getattr(one, '__weakref__', None)
    except TypeError:  # before Python 3.11.3 a dataclass with slots may keep a wrong descriptor
        return None


def _filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _attributes(one: object) -> Iterator[Any]:
    """Slots and properties, of all classes it is of; of ours what else the class holds, too."""
    for cls in type(one).__mro__:
        for name, member in list(vars(cls).items()):
            if cls.__module__.startswith('sightplan') and not name.startswith('__'):
                yield member
            if isinstance(member, (property, functools.cached_property,
                                   types.MemberDescriptorType)):
                try:
                    yield getattr(one, name)
                except Exception:
                    continue


OURS = ('sightplan.agent.context', 'sightplan.domains.',
        'sightplan.grounding.instructions', 'sightplan.model.')
"""Modules whose objects a method may be handed: data, and the two contracts."""


def strangers(things: Iterable[Any]) -> set[str]:
    """Classes of ours among things that a method should not get hold of: worlds, plans, scenes."""
    return {f'{type(one).__module__}.{type(one).__qualname__}' for one in things
            if _is_strange(one)}


def _is_strange(one: object) -> bool:
    module = type(one).__module__
    return (module.partition('.')[0].startswith('sightplan')
            and not f'{module}.'.startswith(OURS))


# ----------------------------------------------------------------------------------- episodes


def fingerprints(split: str, problem: Problem, seeds: Iterable[int] = SEEDS) -> set[Any]:
    """All by which somebody who has the program knows a problem again, apart from what is shown.

    Whatever names or numbers the program makes of a problem and its episode: its name and file,
    ids, keys, seeds and what is drawn from them, and what is hidden of it.
    """
    marks: set[Any] = {problem.name, problem.source, problem_key(problem), problem.init}
    for trial, seed in itertools.product(TRIALS, seeds):
        episode = f'{problem.domain_name}/{split or "-"}/{problem.name}#{trial}'
        digest = hashlib.sha256(f'{seed}\x1f{episode}'.encode()).digest()
        number = int.from_bytes(digest[:4], 'big')
        marks |= {episode, number, f'{number}'}
        for words in (f'policy/{number}/{episode}', f'policy/{number}', f'{number}', episode):
            marks.add(random.Random(words).getstate())
        marks.add(random.Random(number).getstate())
    return marks - {'', None}


class Library:
    """The problems of a domain's splits, as the adversary has learned them by heart."""

    def __init__(self, problems: Iterable[tuple[str, Problem]]) -> None:
        self.problems = list(problems)
        owners: dict[Any, list[Problem]] = {}
        for split, problem in self.problems:
            for mark in fingerprints(split, problem):
                owners.setdefault(mark, []).append(problem)
        self._owner = {mark: found[0] for mark, found in owners.items() if len(found) == 1}
        self._texts = {mark: problem for mark, problem in self._owner.items()
                       if isinstance(mark, str) and len(mark) >= 8}

    def recognise(self, things: Iterable[Any]) -> Problem | None:
        """The problem that one of these objects tells, None if none does."""
        words = []
        for one in things:
            if isinstance(one, str):
                words.append(one)
            try:
                found = self._owner.get(one)
            except (TypeError, ValueError):  # it cannot be hashed
                continue
            if found is not None:
                return found
        text = '\n'.join(words)
        return next((problem for mark, problem in self._texts.items() if mark in text), None)


class Prying(PolicyBase):
    """A method that looks its problem up among those it knows, and then plans from its truth.

    Args:
        library: what it knows.
        plan: finds a plan for a whole problem.
    """

    reads_goal = True
    remaining = 0

    def __init__(self, library: Library, plan: Callable[[Problem], Iterable[Action]]) -> None:
        self._library, self._plan = library, plan
        self.seen: list[Any] = []
        self.recognised: Problem | None = None
        self.plain: list[str] = []

    def begin(self, context: WorldContext) -> Stop | None:
        """Collect all there is, and look it up."""
        self.recognised = None
        offered = list(self._offered(context))
        self.seen = reachable(context, *offered)
        self.plain = sorted(re.sub(r'0x[0-9a-f]+', '0x', repr(one)) for one in self.seen
                            if isinstance(one, PLAIN))
        self.recognised = self._library.recognise(self.seen)
        self._actions = deque(self._plan(self.recognised) if self.recognised else ())
        return None

    def _offered(self, context: WorldContext) -> Iterator[Any]:
        """What the context's methods give, errors too."""
        atom = min(context.model.atoms, key=str)
        for call in (context.observe, context.goal_observation, context.rng.getstate,
                     lambda: ask_atoms(context, [atom], AskPurpose.ENUMERATION),
                     lambda: context.propose(()),
                     lambda: detect_instances(context, context.observe(), 1),
                     lambda: context.adopt_problem({}, ())):
            try:
                yield call()
            except SightplanError as error:
                yield (str(error), error.args, vars(error))

    def decide(self, context: WorldContext) -> Decision:
        """Follow the plan."""
        if not self._actions:
            return Stop(StopReason.GAVE_UP)
        return Act(self._actions.popleft())

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Pry into what the world says of an action."""
        self.seen += reachable(feedback)
        return None


# ------------------------------------------------------------------------------------ samples


class PryingAnswerer(AnswererBase):
    """An answerer that looks its sample up among those it knows, and then says what is true.

    What it does not know it leaves to chance, as the answerer ``random`` does.

    Args:
        truths: the reply that is right, by what names the sample.
    """

    needs_model = False
    prompt = suite_prompt = ''

    def __init__(self, truths: Mapping[str, SampleReply]) -> None:
        self._truths = dict(truths)
        self.words: list[str] = []
        self.containers: list[Any] = []
        self.strangers: set[str] = set()
        self.recognised = 0

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Reply to samples, in their order."""
        self._note(reachable(context, samples))
        return [self._reply(sample, context) for sample in samples]

    def _note(self, seen: Iterable[Any]) -> str:
        """Keep what may tell something; gives all texts as one."""
        words = [one for one in seen if isinstance(one, str)]
        self.words += words
        self.containers += [one for one in seen if isinstance(one, (list, dict))]
        self.strangers |= strangers(seen)
        return '\n'.join(words)

    def _reply(self, sample: Sample, context: Context) -> SampleReply:
        text = self._note(reachable(sample, *self._offered(sample, context)))
        known = next((mark for mark in self._truths if mark in text), None)
        if known is None:
            return GUESS
        self.recognised += 1
        return self._truths[known]

    def _offered(self, sample: Sample, context: Context) -> Iterator[Any]:
        """Collect all values that the context's methods and the pictures return or raise."""
        pictures = [part for part in sample.parts if isinstance(part, Picture)]
        box = Region(Form.BOX, ((0.1, 0.1), (0.2, 0.2)))
        for call in (*(picture.load for picture in pictures),
                     *(picture.load_depth for picture in pictures if picture.load_depth),
                     context.rng.getstate, lambda: context.asking(sample),
                     lambda: marked(sample, [box]), lambda: task_of(sample).prompt('ask'),
                     lambda: task_of(sample).read(SampleReply('yes')),
                     lambda: task_of(sample).shown(True, True),
                     lambda: ask_samples(context, [sample], 'ground', 'ask'),
                     lambda: compare_choices(context, sample, 'both', True),
                     lambda: instances_in(context, sample, 1),
                     lambda: context.asking(replace(sample, id='another'))):
            try:
                yield call()
            except (SightplanError, AssertionError, KeyError, AttributeError) as error:
                yield (str(error), error.args, vars(error))
