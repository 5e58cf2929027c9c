"""Models around other models: a bare wrapper, prompts for a model that chats, and a router."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sightplan.model import InputError, Usage
from sightplan.model.query import (
    Deadline,
    Model,
    Query,
    R,
    Reply,
    Traits,
    ask_in_batches,
    ask_one_by_one,
    ask_plainly,
    can_ask,
    carry_over,
    check_pictures,
    close,
    part_name,
    picture_check,
    pictures_lost,
    start_episode,
    traits_of,
)
from sightplan.queries.chat import ChatStyle
from sightplan.queries.generate import Generate

Kind = type[Query[Any]]


class Wrapper:
    """A model around another one that passes on all that it does not change.

    Args:
        inner: the model that answers.
    """

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    @property
    def accepts(self) -> frozenset[Kind]:
        """Kinds that the inner model answers."""
        return self.inner.accepts

    @property
    def traits(self) -> Traits:
        """Traits of the inner model."""
        return traits_of(self.inner)

    @property
    def name(self) -> str:
        """Exact name and version of the inner model."""
        return self.inner.name

    @property
    def usage(self) -> Usage | None:
        """Usage of all calls so far; None where it is not counted."""
        return self.inner.usage

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the inner model; contract in ``Model``."""
        return self.inner.ask(queries, deadline)

    def part_name(self, kind: Kind) -> str:
        """Exact name of what answers a kind; contract in ``HasParts``."""
        return part_name(self.inner, kind)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Tell the inner model that a new episode begins, if it keeps a history."""
        start_episode(self.inner, episode_id, split)

    def carry_over(self, spent: Usage) -> None:
        """Tell the inner model, if it has a limit on spending."""
        carry_over(self.inner, spent)

    @property
    def pictures_lost(self) -> str:
        """Why pictures do not reach the inner model, '' if no loss is known."""
        return pictures_lost(self.inner)

    @property
    def picture_check(self) -> str:
        """Way in which it was checked whether pictures reach the inner model."""
        return picture_check(self.inner)

    def check_pictures(self) -> None:
        """Let the inner model check pictures, if it can; contract in ``PictureCheck``."""
        check_pictures(self.inner)

    def ask_plainly(self, queries: Sequence[Query[R]]) -> list[R] | None:
        """Ask the inner model each question by itself; contract in ``AnswersPlainly``."""
        return ask_plainly(self.inner, queries)

    def close(self) -> None:
        """Close the inner model."""
        close(self.inner)


class Prompted(Wrapper):
    """A model that chats, made to answer every kind of query.

    Kinds that it answers itself, such as yes/no questions with probabilities, are passed on as
    they are. All others are put into words by ``Query.as_chat``, one by one, and so have none.

    Args:
        inner: the chat model; one that answers ``Generate``.
        style: style in which the model is asked.
    """

    def __init__(self, inner: Model, style: ChatStyle | None = None) -> None:
        super().__init__(inner)
        self.style = style or ChatStyle()

    @property
    def accepts(self) -> frozenset[Kind]:
        """Every kind, if the inner model writes text."""
        every = frozenset({Query}) if can_ask(self.inner, Generate) else frozenset[Kind]()
        return self.inner.accepts | every

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Ask the inner model, in words where it must be; contract in ``Model``."""
        if all(can_ask(self.inner, type(query)) for query in queries):
            return self.inner.ask(queries, deadline)
        return ask_in_batches(queries, lambda batch: self._ask_batch(batch, deadline),
                              deadline.keep_going)

    def _ask_batch(self, batch: list[Query[Any]], deadline: Deadline) -> list[Reply]:
        if can_ask(self.inner, type(batch[0])):
            return self.inner.ask(batch, deadline)
        return ask_one_by_one([[query] for query in batch],
                              lambda one: [self._ask_in_words(one[0], deadline)],
                              deadline.keep_going)

    def _ask_in_words(self, query: Query[Any], deadline: Deadline) -> Reply:
        chat = query.as_chat(self.style)
        [said] = self.ask([chat.query], deadline)
        read: Reply = chat.read(said)
        return read


class Lazy:
    """A model that is loaded when it is asked for the first time.

    Args:
        load: function that loads the model.
    """

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._loaded: Model | None = None
        self._lock = threading.Lock()

    @property
    def loaded(self) -> Model | None:
        """The model, if it is loaded already; else None."""
        return self._loaded

    def get(self) -> Model:
        """Return the model, and load it if it is not loaded yet.

        Raises:
            InputError: there is no such model.
            BackendError: the model is missing or unfit.
        """
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class Router:
    """A model made of several models, each of which answers some kinds of queries.

    Args:
        main: the model that gives the router its name; it answers its kinds unless ``parts`` do.
        parts: kind to the model that answers it.
        missing: kind that is not answered to the reason, with the remedy.
    """

    def __init__(self, main: Model, parts: Mapping[Kind, Lazy | Model],
                 missing: Mapping[Kind, str] | None = None) -> None:
        self.main = main
        self._parts: dict[Kind, Lazy | Model] = {
            **dict.fromkeys(main.accepts, main), **parts}
        self._missing = dict(missing or {})

    @property
    def accepts(self) -> frozenset[Kind]:
        """Kinds that one of the models answers."""
        return frozenset(self._parts)

    @property
    def traits(self) -> Traits:
        """Traits of the main model."""
        return traits_of(self.main)

    @property
    def name(self) -> str:
        """Exact name of the main model; replies of other models hold those models' names."""
        return self.main.name

    @property
    def usage(self) -> Usage | None:
        """Sum of the usage of all models that were loaded; None where none is counted."""
        models = {id(self.main): self.main}
        for part in self._parts.values():
            model = part.loaded if isinstance(part, Lazy) else part
            if model is not None:
                models[id(model)] = model
        known = [usage for model in models.values() if (usage := model.usage) is not None]
        return sum(known, Usage()) if known else None

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Let each query be answered by the model of its kind; contract in ``Model``."""
        return ask_in_batches(queries, lambda batch: self._ask_batch(batch, deadline),
                              deadline.keep_going)

    def _ask_batch(self, batch: list[Query[Any]], deadline: Deadline) -> list[Reply]:
        model = self.part(type(batch[0]))
        replies = model.ask(batch, deadline)
        if model is self.main:
            return replies
        return [reply if reply.model else dataclasses.replace(reply, model=model.name)
                for reply in replies]

    def part(self, kind: Kind) -> Model:
        """The model that answers a kind, loaded if it was not.

        Raises:
            InputError: none does; says why.
            BackendError: the model is missing or unfit.
        """
        found = next((self._parts[base] for base in kind.__mro__ if base in self._parts), None)
        if found is None:
            raise InputError(self._missing.get(kind) or
                             f'model {self.name} answers no queries of kind {kind.kind!r}; '
                             'choose another one')
        return found.get() if isinstance(found, Lazy) else found

    def part_name(self, kind: Kind) -> str:
        """Exact name of what answers a kind; contract in ``HasParts``."""
        return self.part(kind).name

    def ask_plainly(self, queries: Sequence[Query[R]]) -> list[R] | None:
        """Ask each question by itself; contract in ``AnswersPlainly``."""
        return ask_plainly(self.part(type(queries[0])), queries)

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Tell the main model that a new episode begins, if it keeps a history."""
        start_episode(self.main, episode_id, split)

    def close(self) -> None:
        """Close all models that were loaded."""
        for part in {id(part): part for part in self._parts.values()}.values():
            close(part.loaded if isinstance(part, Lazy) else part)
