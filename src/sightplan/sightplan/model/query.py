"""Queries to a model, its replies, and the protocol of a model.

A *query* is a value: a frozen dataclass that holds all that a model is shown. Its class says how
its reply looks, how a model that only chats is asked, what the truth replies and how the truth
errs (for simulated models), and what a person sees of it. ``sightplan.queries`` has one module for
each kind; a kind of one's own is one more class, in any package::

    @dataclass(frozen=True)
    class CountReply(Reply):
        count: int | None = None

    @dataclass(frozen=True, eq=False)
    class Count(Query[CountReply]):
        image: Rgb
        what: str
        kind: ClassVar[str] = 'count'
        reply_type: ClassVar[type[Reply]] = CountReply

A *model* answers lists of queries (``Model``). All that surrounds a model (recording, replay, a
script, simulated errors, prompts, caps) is written once, over ``Query``.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sightplan.model import dataclass_json
from sightplan.model.errors import (
    BackendError,
    DeadlineError,
    InputError,
    RefusedError,
    SightplanError,
)
from sightplan.model.usage import Usage

Rgb = NDArray[np.uint8]
"""A picture, (H, W, 3) uint8 RGB."""
Hooks = Mapping[Any, dataclass_json.Hook]
Part = str | Rgb
"""A piece of a prompt: text, or a picture."""

NOT_SHOWN = {'shown': False}
"""``field(metadata=NOT_SHOWN)``: a field of a query that no model is shown, so that the reply does
not depend on it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Base class of a model's reply to a query.

    Attributes:
        model: exact name of the model that replied, where several answer under one name; '':
            that of the model that was asked.
    """

    model: str = field(default='', kw_only=True, compare=False)

    def __post_init__(self) -> None:
        """Convert numbers of numpy to those of Python, which can be written as JSON."""
        for one in dataclasses.fields(self):
            object.__setattr__(self, one.name, _without_numpy(getattr(self, one.name)))

    def summary(self) -> str:
        """Return the reply as one short text for people."""
        return _short(dataclass_json.encode(self).items())

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Return the full reply for people: lines by label; by default the summary alone."""
        return {'reply': (self.summary(),)}

    @property
    def usable(self) -> bool:
        """Whether the reply says something about the query."""
        return True

    def to_json(self, *, hooks: Hooks = dataclass_json.NO_HOOKS) -> dict[str, Any]:
        """Return the reply as plain JSON data, without fields that have their defaults.

        Arrays, such as masks, are written whole.

        Args:
            hooks: what writes the values of some classes, by class.
        """
        data: dict[str, Any] = dataclass_json.encode(self, brief=True, hooks={
            np.ndarray: dataclass_json.written_out, **hooks})
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *,
                  hooks: Hooks = dataclass_json.NO_HOOKS) -> Self:
        """Read a reply from the JSON data that ``to_json`` gives.

        Args:
            data: plain JSON data.
            hooks: what reads the values of some classes, by class.

        Raises:
            InputError: it is something else; names the field.
        """
        return dataclass_json.decode(cls, data, hooks=hooks)


@dataclass(frozen=True, slots=True)
class Failed(Reply):
    """Stands in an episode's records for the reply of a model that could not answer.

    Attributes:
        error: class and message of the error that was raised.
    """

    error: str

    def summary(self) -> str:
        """Return the error."""
        return f'failed: {self.error}'

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Return the error alone."""
        return {'failed': (self.error,)}

    @property
    def usable(self) -> bool:
        """Return False: nothing was replied."""
        return False


R = TypeVar('R', bound=Reply)
R_co = TypeVar('R_co', bound=Reply, covariant=True)


@dataclass(frozen=True)
class Chat(Generic[R_co]):
    """A query rephrased for a model that can only chat, and the reader of its reply.

    Attributes:
        query: of a kind that such a model answers: ``queries.Generate`` or ``queries.YesNo``.
        read: makes the reply out of the model's.
    """

    query: Query[Any]
    read: Callable[[Any], R_co]


class Draws(Protocol):
    """Random numbers of a simulated model, determined by the query and given words."""

    def __call__(self, *about: str) -> float:
        """Return a number in [0, 1), always the same for the same query and words."""


class Query(Generic[R]):
    """Base class of all kinds of queries to a model; a kind is a frozen dataclass.

    Attributes:
        kind: name of the kind, in recordings and scripts.
        reply_type: class of its replies, a dataclass.
        cannot_answer: what is said of a model that does not answer the kind, as the rest of a
            sentence that begins with the model ("writes no text"). The default names the kind.
    """

    kind: ClassVar[str]
    reply_type: ClassVar[type[Reply]]
    cannot_answer: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Query[Any]]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if 'kind' in vars(cls):
            Query._kinds[cls.kind] = cls
            if 'cannot_answer' not in vars(cls):
                cls.cannot_answer = f'answers no queries of kind {cls.kind!r}'

    @functools.cached_property
    def key(self) -> str:
        """SHA-256 of all that a model is shown, with pictures by their ids.

        Two queries with one key are the same to a model.
        """
        text = json.dumps({'kind': self.kind, **self.shared(), **self.content()},
                          sort_keys=True, separators=(',', ':'))
        return hashlib.sha256(text.encode()).hexdigest()

    def content(self) -> dict[str, Any]:
        """Return all that a model is shown, as plain JSON data with pictures by their ids.

        Without what ``shared`` has. The default: all fields that are shown (``NOT_SHOWN``).
        """
        return {one.name: dataclass_json.encode(getattr(self, one.name))
                for one in dataclasses.fields(cast(Any, self))
                if one.metadata.get('shown', True)}

    def shared(self) -> dict[str, Any]:
        """Return content that many queries share, such as a prompt; a recording stores it once."""
        return {}

    @property
    def pictures(self) -> tuple[Rgb, ...]:
        """The pictures that a model is shown."""
        return tuple(picture for one in dataclasses.fields(cast(Any, self))
                     for picture in _pictures(getattr(self, one.name)))

    @property
    def picture_ids(self) -> tuple[str, ...]:
        """Ids of the pictures, as ``Observation.image_id``."""
        return tuple(map(dataclass_json.picture_id, self.pictures))

    @property
    def together(self) -> object:
        """Group of the query: consecutive queries of one group are sent at once; None: alone."""
        return None

    def summary(self) -> str:
        """Return the query as one short text for people."""
        return f'{self.kind}: {_short(self.content().items())}'

    def to_json(self, *, hooks: Hooks = dataclass_json.NO_HOOKS) -> dict[str, Any]:
        """Return the query as plain JSON data; pictures are given by id and stored separately.

        Args:
            hooks: what writes the values of some classes, by class.
        """
        return {'kind': self.kind, **dataclass_json.encode(self, brief=True, hooks=hooks)}

    @staticmethod
    def from_json(data: Mapping[str, Any], picture: Callable[[str], NDArray[Any]], *,
                  hooks: Hooks = dataclass_json.NO_HOOKS) -> Query[Any]:
        """Read a query from the JSON data that ``to_json`` gives.

        Args:
            data: plain JSON data.
            picture: finds a picture, or another array, by its id.
            hooks: what reads the values of some classes, by class.

        Raises:
            InputError: it is something else, or of a kind that nobody has imported.
        """
        rest = dict(data)
        name = str(rest.pop('kind', ''))
        if name not in known_kinds():
            raise InputError(f'no kind of query is called {name!r} (known: '
                             f'{", ".join(sorted(known_kinds()))}); import the module that '
                             'defines it')
        return dataclass_json.decode(known_kinds()[name], rest, picture, hooks=hooks)

    def without_hidden(self) -> Query[R]:
        """Return the query as it may leave for a model of another process.

        The default: fields that no model is shown (``NOT_SHOWN``) have their defaults.

        Raises:
            InputError: such a field has no default.
        """
        hidden = [one for one in dataclasses.fields(cast(Any, self))
                  if not one.metadata.get('shown', True)]
        if bare := [one.name for one in hidden if one.default is dataclasses.MISSING]:
            raise InputError(f'a query of kind {self.kind!r} cannot be sent to a model of another '
                             f'process: no model is shown its field {bare[0]}; give it a default')
        return dataclasses.replace(cast(Any, self), **{one.name: one.default for one in hidden}
                                   ) if hidden else self

    def as_chat(self, style: Any) -> Chat[R]:
        """Return the query rephrased for a model that can only chat.

        Args:
            style: how that model wants to be asked, ``queries.chat.ChatStyle``.

        Raises:
            InputError: such a model cannot be asked it.
        """
        raise InputError(f'a model that only chats cannot be asked a query of kind {self.kind!r}; '
                         'choose a model that answers it itself')

    def true_reply(self, truth: Any) -> R:
        """Return the reply that the ground truth gives; simulated models use it.

        Args:
            truth: the ground truth at hand, such as a ``TruthSource``.

        Raises:
            InputError: the truth does not tell.
        """
        raise InputError(f'no truth replies to queries of kind {self.kind!r}; choose a model that '
                         'looks at pictures')

    def wrong_reply(self, truth: Any, draw: Draws) -> R:
        """Return a wrong reply; simulated models use it.

        Args:
            truth: the ground truth at hand, such as a ``TruthSource``.
            draw: random numbers.

        Raises:
            InputError: no wrong replies are defined for this kind of query.
        """
        raise InputError(f'nobody knows how models err about queries of kind {self.kind!r}')


    def fault_of(self, reply: R) -> str:
        """Return why a reply of the right class cannot be used, with the remedy; '' if it can.

        Every reply is checked by it (``ask_all``), so that a model that breaks the contract of
        its replies is not believed.

        Args:
            reply: of the class ``reply_type``.
        """
        return ''


def known_kinds() -> Mapping[str, type[Query[Any]]]:
    """The kinds of queries that have been imported, by name."""
    return Query._kinds


@dataclass(frozen=True, slots=True)
class Deadline:
    """Time limit of a call to a model.

    Attributes:
        timeout_s: wall-clock limit of the whole call [s]; None for the model's own.
        keep_going: whether replies to some queries are of use where others fail, so that the rest
            is asked although one has failed.
        started_s: when the call began, on the monotonic clock.
    """

    timeout_s: float | None = None
    keep_going: bool = False
    started_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float | None:
        """Time left until the limit [s], 0 or less if it has passed; None without a limit."""
        return (None if self.timeout_s is None
                else self.timeout_s - (time.monotonic() - self.started_s))

    def check(self, what: str) -> None:
        """Check that the limit has not passed.

        Args:
            what: subject of the message, such as ``embedded: locating``.

        Raises:
            DeadlineError: the limit has passed.
        """
        took = time.monotonic() - self.started_s
        if self.timeout_s is not None and took > self.timeout_s:
            raise DeadlineError(f'{what} took {took:.2f} s, the limit was {self.timeout_s:.2f} s')


NO_DEADLINE = Deadline()


class Model(Protocol):
    """Protocol of a model: it answers lists of queries."""

    @property
    def accepts(self) -> frozenset[type[Query[Any]]]:
        """Kinds of queries that the model answers; the model's class has this attribute, too.

        A class stands for all of its subclasses, ``Query`` for every kind.
        """

    @property
    def name(self) -> str:
        """Exact name and version of the model."""

    @property
    def usage(self) -> Usage | None:
        """Total usage of all calls so far; None if it is not counted."""

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries, in their order. One call is one batch.

        A reply that cannot be read is no error: it comes back with the reason.

        Raises:
            InputError: the model cannot answer such queries.
            BackendError: the model could not answer.
            DeadlineError: not within the time limit.
            SpendingCapError: a limit on tokens or cost is reached.
            SightplanError: any of these. Where some queries were answered before, ``partial`` has
                a reply or None for each.
        """


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a model that are known before it is asked.

    A model has them as the class attribute or property ``traits``.

    Attributes:
        truth: method of the ground truth that it answers from (``state``, ``masks``, ``better``);
            '' for a model that is given no truth.
        pixels: whether it looks at pictures, so that a world without them is of no use to it.
        texts: whether it answers yes/no questions about an observation that is a text alone.
        prompt: whether its answers depend on the words around yes/no questions.
        history: whether it keeps a history of an episode; then it has ``start_episode``.
        capped: whether it keeps to a limit on spending; then it has ``carry_over``.
        depth: whether it uses the depth of observations.
        domain: name of the one domain whose questions it was made for; '' for any.
        weights: whether it loads weights of its own, so that many workers had better share one
            process that has them.
        refuses: whether it reports that it cannot read questions of other domains; otherwise it
            would answer them at random.
        made_for: the pictures that it was made for, as the end of a sentence about it, where it
            is sure and wrong about others; '' for any.
    """

    truth: str = ''
    pixels: bool = True
    texts: bool = False
    prompt: bool = True
    history: bool = False
    capped: bool = False
    depth: bool = False
    domain: str = ''
    refuses: bool = False
    weights: bool = False
    made_for: str = ''


@runtime_checkable
class HasTraits(Protocol):
    """A model, or its class, that declares traits."""

    @property
    def traits(self) -> Traits:
        """Properties of the model that are known before it is asked."""


@runtime_checkable
class FollowsEpisodes(Protocol):
    """A model that must be told when an episode begins."""

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Note that a new episode begins."""


@runtime_checkable
class CountsSpending(Protocol):
    """A model with a limit on the spending of a run."""

    def carry_over(self, spent: Usage) -> None:
        """Count what earlier sessions of the run spent towards the limit."""


@runtime_checkable
class PictureCheck(Protocol):
    """A model that can detect whether pictures get lost on their way to it."""

    @property
    def pictures_lost(self) -> str:
        """Reason why pictures do not reach the model, with the remedy; '' if no loss is known.

        Then every query with a picture raises a BackendError.
        """

    @property
    def picture_check(self) -> str:
        """Way in which it was checked whether pictures reach the model; '' before the check."""

    def check_pictures(self) -> None:
        """Find out whether pictures reach the model, before the next picture is sent.

        What that costs counts as other queries do. Where it cannot be found out, a warning says
        so.
        """


@runtime_checkable
class AnswersPlainly(Protocol):
    """A model that shares work between questions, and can do without, to be compared with."""

    def ask_plainly(self, queries: Sequence[Query[R]]) -> list[R] | None:
        """Return the replies to yes/no questions about one picture, each asked by itself.

        Returns:
            Replies in order; None if this model shares nothing (a wrapper around another).
        """


@runtime_checkable
class HasParts(Protocol):
    """A model that answers different kinds by different models."""

    def part_name(self, kind: type[Query[Any]]) -> str:
        """Return the exact name of the model that answers a kind of query.

        Raises:
            InputError: no part answers that kind.
            BackendError: the part that answers it is missing or unfit.
        """


@runtime_checkable
class RecordedElsewhere(Protocol):
    """A model in another process, where what it is asked and replies may be written down."""

    @property
    def recorded(self) -> bool:
        """Whether that is done."""


@runtime_checkable
class ServesDomains(Protocol):
    """A model in another process that has a model for each domain there."""

    def for_domain(self, domain: str) -> Model:
        """Return the model that answers queries about a domain.

        Args:
            domain: name of the domain, or the path of its folder.

        Raises:
            InputError: no model answers queries about the domain.
            DeadlineError: the other process does not reply in time.
        """


@runtime_checkable
class ChecksPlanning(Protocol):
    """A model that can tell before the first query whether it plans for a method in a domain."""

    def check_planning(self, domain: str, method: str) -> None:
        """Check that the model can plan.

        Args:
            domain: name of the domain.
            method: name of the method whose model plans.

        Raises:
            InputError: the model cannot; says why.
        """


@runtime_checkable
class Closable(Protocol):
    """An object that holds a connection, a file or a process, and can be closed."""

    def close(self) -> None:
        """Release the connection, file or process."""


def traits_of(model: object) -> Traits:
    """Return the traits of a model or its class; the default ones if it declares none."""
    return model.traits if isinstance(model, HasTraits) else Traits()


def can_ask(model: object, kind: type[Query[Any]]) -> bool:
    """Whether a model, or its class, answers a kind of query."""
    return any(issubclass(kind, accepted) for accepted in cast(Model, model).accepts)


def part_name(model: Model, kind: type[Query[Any]]) -> str:
    """Return the exact name of the model that answers a kind; see ``HasParts.part_name``."""
    return model.part_name(kind) if isinstance(model, HasParts) else model.name


def check_planning(model: object, domain: str, method: str) -> None:
    """Let a ``ChecksPlanning`` model check that it plans for a method in a domain."""
    if isinstance(model, ChecksPlanning):
        model.check_planning(domain, method)


def start_episode(model: object, episode_id: str, split: str = '') -> None:
    """Tell a model that keeps a history that a new episode begins."""
    if isinstance(model, FollowsEpisodes):
        model.start_episode(episode_id, split)


def carry_over(model: object, spent: Usage) -> None:
    """Tell a model that has a limit on spending what earlier sessions of the run spent."""
    if isinstance(model, CountsSpending):
        model.carry_over(spent)


def check_pictures(model: object) -> None:
    """Let a ``PictureCheck`` model find out whether pictures get lost, before the first one."""
    if isinstance(model, PictureCheck):
        model.check_pictures()


def pictures_lost(model: object) -> str:
    """Return why pictures do not reach a model, with the remedy; '' if no loss is known."""
    return model.pictures_lost if isinstance(model, PictureCheck) else ''


def picture_check(model: object) -> str:
    """Return what was found out about pictures on their way to a model; '' if nothing was."""
    return model.picture_check if isinstance(model, PictureCheck) else ''


def recorded_elsewhere(model: object) -> bool:
    """Whether a model is in another process, which writes down its queries and replies."""
    return isinstance(model, RecordedElsewhere) and model.recorded


def ask_plainly(model: object, queries: Sequence[Query[R]]) -> list[R] | None:
    """Return an ``AnswersPlainly`` model's replies to each question by itself; else None."""
    return model.ask_plainly(queries) if isinstance(model, AnswersPlainly) else None


def close(thing: object) -> None:
    """Close an object if it is ``Closable``."""
    if isinstance(thing, Closable):
        thing.close()


def ask_one(model: Model, query: Query[R], timeout_s: float | None = None) -> R:
    """Ask a model one query and return the reply.

    Args:
        model: to be asked.
        query: what it is asked.
        timeout_s: wall-clock limit [s]; None for the model's own.

    Raises:
        SightplanError: see ``Model.ask``.
        BackendError: also if it gave another number of replies, or one of another kind, or raised
            an exception that is no SightplanError.
    """
    [reply] = ask_all(model, [query], Deadline(timeout_s))
    return reply


def ask_all(model: Model, queries: Sequence[Query[R]], deadline: Deadline = NO_DEADLINE,
            ) -> list[R]:
    """Return the replies to queries of one kind, in order; errors are those of ``ask_one``.

    Where a reply is at fault, ``partial`` of the error has the others.
    """
    if not queries:
        return []
    try:
        replies = model.ask(queries, deadline)
    except SightplanError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() of a model is not the run's end
        failure = BackendError(f'model {model.name} raised {_words(error)}{_place(error)} when '
                               f'it was asked a query of kind {queries[0].kind!r}')
        failure.defect = True
        raise failure from error
    _check_is_list(model, replies)
    if len(replies) != len(queries):
        raise BackendError(f'{model.name} gave {len(replies)} replies to {len(queries)} queries')
    faults = [_fault(model, query, reply) for query, reply in zip(queries, replies, strict=True)]
    if any(faults):
        failure = BackendError(next(filter(None, faults)))
        failure.partial = [None if fault else reply
                           for fault, reply in zip(faults, replies, strict=True)]
        raise failure
    return cast(list[R], replies)


def _fault(model: Model, query: Query[Any], reply: object) -> str:
    """Explain what is wrong with a reply to a query; '' if nothing is."""
    if not isinstance(reply, query.reply_type):
        return (f'{model.name} replied to a query of kind {query.kind!r} with a '
                f'{type(reply).__name__}; it must be of class {query.reply_type.__name__}')
    fault = query.fault_of(reply)
    return fault and f'{part_name(model, type(query))} replied to {query.summary()!r}: {fault}'


def _words(error: Exception | SystemExit) -> str:
    """Class of an exception, and its message if it has one."""
    return ': '.join(filter(None, (type(error).__name__, str(error))))


def _place(error: Exception | SystemExit) -> str:
    """File and line of a package of somebody else where an exception arose; '' if in none."""
    frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = next((frame.f_code.co_filename for frame, _ in frames
                   if not frame.f_globals.get('__name__', '').startswith('sightplan')), '')
    lines = [line for frame, line in frames if frame.f_code.co_filename == theirs]
    return f' ({Path(theirs).name}, line {lines[-1]})' if lines else ''


def _check_is_list(model: Model, replies: object) -> None:
    if not isinstance(replies, (list, tuple)):
        raise BackendError(f'{model.name} replied to a list of queries with a '
                           f'{type(replies).__name__}; it must be a list with one reply to each')


def check_accepts(model: Model, kind: type[Query[Any]]) -> None:
    """Check that a model answers a kind.

    Raises:
        InputError: it does not; says what it answers.
    """
    if not can_ask(model, kind):
        known = sorted(one.kind if 'kind' in vars(one) else one.__name__
                       for one in model.accepts if one is not Query)
        raise InputError(f'model {model.name} answers no queries of kind {kind.kind!r}, only '
                         f'{", ".join(known) or "none"}; choose another one')


_HANDLED = '_answers_kind'


def answers(kind: type[Query[Any]], *, together: bool = False) -> Callable[[T], T]:
    """Mark a method of a ``ModelByKind`` as the one that answers a kind of query.

    The method is given ``(query, deadline)`` and returns a reply; with ``together`` it is given
    ``(queries, deadline)``, queries that agree in ``Query.together``, and returns a list.
    """
    def marked(method: T) -> T:
        setattr(method, _HANDLED, (kind, together))
        return method
    return marked


T = TypeVar('T')


class ModelByKind:
    """Base of models that have a method for each kind of query that they answer.

    Example::

        class Backend(ModelByKind):
            name = 'always-the-middle'

            @answers(Locate)
            def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
                return LocateReply((Region(Form.POINT, ((0.5, 0.5),)),))
    """

    accepts: frozenset[type[Query[Any]]] = frozenset()
    traits: Traits = Traits()
    usage: Any = None
    _handlers: ClassVar[Mapping[type[Query[Any]], tuple[str, bool]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        found: dict[type[Query[Any]], tuple[str, bool]] = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if (marked := getattr(value, _HANDLED, None)) is not None:
                    found[marked[0]] = (name, marked[1])
        cls._handlers = found
        if 'accepts' not in vars(cls):
            cls.accepts = frozenset(found)

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries, each by the method of its kind; contract in ``Model``."""
        return ask_in_batches(queries, lambda batch: self._ask_batch(batch, deadline),
                              deadline.keep_going)

    def _ask_batch(self, batch: list[Query[Any]], deadline: Deadline) -> Sequence[Reply]:
        kind = type(batch[0])
        check_accepts(cast(Model, self), kind)
        name, together = next(self._handlers[base] for base in kind.__mro__
                              if base in self._handlers)
        handler = getattr(self, name)
        replies: Sequence[Reply] = (handler(batch, deadline) if together
                                    else [handler(batch[0], deadline)])
        _check_is_list(cast(Model, self), replies)
        return replies


def ask_in_batches(queries: Sequence[Query[Any]],
                   ask: Callable[[list[Query[Any]]], Sequence[Reply]],
                   keep_going: bool = False) -> list[Reply]:
    """Ask queries batch by batch (``Query.together``) and return the replies in order.

    Args:
        queries: of any kinds.
        ask: asks one batch. Where it fails, ``partial`` of the error has the replies so far.
        keep_going: whether the others are asked after one failed; see ``Deadline``.
    """
    return ask_one_by_one(batches(queries), ask, keep_going)


def ask_one_by_one(batches: Iterable[list[Query[Any]]],
                   ask: Callable[[list[Query[Any]]], Sequence[Reply]],
                   keep_going: bool = False) -> list[Reply]:
    """Ask given batches, one after the other, and return the replies in order.

    Args:
        batches: of queries.
        ask: as in ``ask_in_batches``.
        keep_going: whether the others are asked after one failed, unless the model refuses all,
            or the time or the money is used up.
    """
    replies: list[Reply | None] = []
    failure: SightplanError | None = None
    for batch in batches:
        if failure is not None and not (keep_going and _is_about_one(failure)):
            replies += [None] * len(batch)
            continue
        try:
            replies += ask(batch)
        except SightplanError as error:
            replies += [*error.partial, *[None] * (len(batch) - len(error.partial))]
            failure = error if failure is None or not _is_about_one(error) else failure
    if failure is not None:
        failure.partial = replies
        raise failure
    return cast(list[Reply], replies)


def _is_about_one(error: SightplanError) -> bool:
    """Whether other queries may be answered although one ended in this error."""
    return isinstance(error, BackendError) and not isinstance(error, RefusedError)


def batches(queries: Iterable[Query[Any]]) -> Iterator[list[Query[Any]]]:
    """Yield consecutive queries in batches: those that are sent together, and single ones."""
    def key(pair: tuple[int, Query[Any]]) -> object:
        number, query = pair
        together = query.together
        return type(query), number if together is None else together
    for _, group in groupby(enumerate(queries), key=key):
        yield [query for _, query in group]


def _pictures(value: Any) -> Iterator[Rgb]:
    """Yield the pictures in a value; depth and masks are not pictures."""
    if isinstance(value, np.ndarray):
        if dataclass_json.is_picture(value):
            yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _pictures(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _pictures(one)


def _without_numpy(value: Any) -> Any:
    """Return a field's value with numpy numbers converted to Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple) and any(isinstance(one, np.generic) for one in value):
        return tuple(map(_without_numpy, value))
    return value


def _short(values: Iterable[tuple[str, Any]]) -> str:
    """Return names and values in one line, cut to 120 characters, without empty values."""
    said = [f'{name} {value}' for name, value in values
            if value not in (None, '', [], {}) and name != 'model' and not isinstance(value, dict)]
    text = ', '.join(said)
    return text if len(text) <= _LONGEST else text[:_LONGEST - 1] + '…'


_LONGEST = 120
