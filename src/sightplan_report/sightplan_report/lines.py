"""Schema of the files in a run directory, so that damage is found on reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
from pydantic import Field

from sightplan.metrics.scorer import BELIEF_BINS
from sightplan.model.json_text import load_json

EPISODE, SAMPLE = 'episode', 'sample'
"""Kinds of a run's items."""

_MOST = 2 ** 53
"""Largest whole number that a float holds exactly; sums of some hundred fit into an int64."""

Text = pydantic.InstanceOf[str]
"""Any text; lone surrogates are allowed."""
Count = Annotated[int, Field(ge=0, le=_MOST)]
Number = Annotated[float, Field(ge=-_MOST, le=_MOST, allow_inf_nan=False)]
Stamp = Annotated[int, Field(ge=-2 ** 63, lt=2 ** 63)]


def _path(text: str) -> str:
    if '\0' in text:
        raise ValueError('no file has such a name')
    return text


Path = Annotated[Text, pydantic.AfterValidator(_path)]


class Shape(pydantic.BaseModel):
    """Fields that are used, each of its type; further ones may be there."""

    model_config = pydantic.ConfigDict(strict=True)


class _Seen(Shape):
    image_id: Text
    stamp_ns: Stamp


class _Answer(_Seen):
    purpose: Text
    atom: Text
    answer: Text
    truth: bool | None
    step: Count
    question: Text = ''


class _Evidence(Shape):
    text: Text
    stamp_ns: Stamp
    action: Text
    answers: list[_Answer]
    answer_count: Count


class _Failure(Shape):
    cause: Text
    step: Count
    image_id: Text
    picture: Path | None = None
    evidence: _Evidence


class _Action(_Seen):
    action: Text
    status: Text
    outcome: Text
    applicable: bool | None
    effects: Text | None
    misled: list[_Answer]
    proposal: Text = ''


class _Plan(Shape):
    status: Text
    step: Count
    length: Count | None
    seconds: Number | None
    cached: bool | None


class _Unmet(Shape):
    literal: Text
    last: _Answer | None


class _Usage(Shape, extra='forbid'):
    requests: Count
    prompt_tokens: Count
    completion_tokens: Count
    cost_usd: Number | None = None


class _Counts(Shape):
    """Counts of answers; no part exceeds its whole."""

    asked: Count
    right: Count
    unparsed: Count
    unknown: Count
    yes_asked: Count
    yes_right: Count
    no_asked: Count
    no_right: Count

    @pydantic.model_validator(mode='after')
    def _parts_of_wholes(self) -> _Counts:
        if (self.right + self.unparsed + self.unknown > self.asked
                or self.yes_right > self.yes_asked or self.no_right > self.no_asked):
            raise ValueError('a part exceeds its whole')
        return self


def _bin(values: list[float]) -> list[float]:
    count, total, true = values
    if not (0 <= total <= count + 1 and 0 <= true <= count):
        raise ValueError('a part exceeds its whole')
    return values


_Bin = Annotated[list[Number], Field(min_length=3, max_length=3), pydantic.AfterValidator(_bin)]
"""Number of probabilities, their sum, and the number of their atoms that are true."""

_Beliefs = (Annotated[list[_Bin], Field(max_length=0)]
            | Annotated[list[_Bin], Field(min_length=BELIEF_BINS, max_length=BELIEF_BINS)])

_Wrong = Annotated[tuple[Text, Text, Text, Count, Text, Stamp, bool | None], Field(strict=False)]
"""Purpose, atom, answer, number of actions before, image, its stamp [ns], truth."""


class SampleLine(Shape):
    """Line of results of a finished sample."""

    id: Annotated[Text, Field(min_length=1)]
    cluster: Text
    measures: dict[Text, Number | None]
    suite: Text
    domain: Text
    split: Text
    method: Text
    model: Text
    seed: Annotated[int, Field(ge=0)] | None
    error: Text | None
    usage: _Usage | None
    seconds: Number | None


_TEXTS = ('stop', 'message', 'problem', 'privileged')
_COUNTS = ('steps', 'executed', 'rejected', 'withheld', 'withheld_true_positive', 'invalid',
           'repaired')
_MAYBE_COUNTS = ('privileged_facts', 'remaining', 'actions_right', 'actions_counted',
                 'observations', 'questions')
"""Counts that results of others, which were imported, may not tell."""

_FIELDS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, Text), **dict.fromkeys(_COUNTS, Count),
    **dict.fromkeys(_MAYBE_COUNTS, Count | None),
    'max_actions': Count | None, 'optimal_length': Count | None, 'stop_at_goal': bool,
    'failure_probability': Number, 'plans': list[_Plan], 'actions': list[_Action],
    'predicates': dict[Text, dict[Text, _Counts]], 'enumerations': list[bool],
    'enumerated_at': list[Count], 'checks': dict[Text, dict[Text, Count]],
    'timings_s': dict[Text, Number], 'wrong': list[_Wrong], 'proposals': dict[Text, Count],
    'prompts': dict[Text, Count], 'unreadable': list[Text], 'beliefs': _Beliefs,
    'failure': _Failure | None, 'last_observation': _Seen | None, 'goal_unmet': list[_Unmet],
    'bag': (Path | None, None)}

EpisodeLine = pydantic.create_model('EpisodeLine', __base__=SampleLine, **_FIELDS)
"""A finished episode, see ``metrics.scorer.EpisodeScorer.result``."""


class _Named(Shape):
    name: Text


class _Hashed(Shape):
    sha256: Any = None


class _Identity(Shape):
    suite: Text = ''
    domain: Text = ''
    split: Text | None = None
    method: _Named | None = None
    backend: _Named | None = None
    model: Text | None = None
    prompt: _Hashed | None = None
    problems: _Hashed | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    failure_probability: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_actions: dict[Text, Any] = {}
    stop_at_goal: dict[Text, Any] = {}
    privileged: dict[Text, Any] = {}


class _Settings(Shape):
    suite: Text = ''
    backend: Text = ''
    episodes: Count = 0


class _Session(Shape):
    started: Text | None = None
    commit: Text | None = None
    packages: dict[Text, Any] = {}
    settings: _Settings = _Settings()


class RunInfo(Shape):
    """Content of ``run.json``."""

    identity: _Identity
    sessions: list[_Session]


class _Cell(Shape):
    dir: Text
    labels: dict[Text, Any]
    episodes: Count


class Index(Shape):
    """Content of ``*.sweep.json``: the runs of a sweep."""

    cells: list[_Cell]


def wrong_field(kind: type[Shape], data: object) -> str:
    """First field that does not fit a schema, such as ``plans.0.step``; '' if all fit."""
    try:
        kind.model_validate(data)
    except pydantic.ValidationError as error:
        return '.'.join(map(str, error.errors(include_url=False)[0]['loc'])) or 'not an object'
    return ''


def read_line(text: bytes) -> tuple[Mapping[str, Any], str]:
    """A line of results, and the error that makes it unusable ('' for none)."""
    try:
        line = load_json(text)
    except (ValueError, RecursionError):
        return {}, NOT_JSON
    sample = isinstance(line, dict) and line.get('kind') == SAMPLE
    return line, wrong_field(SampleLine if sample else EpisodeLine, line)


NOT_JSON = 'is not JSON'
"""Error of a line that a crash may have truncated."""
