"""Any events of an episode between its start and its end, for property tests."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from hypothesis import strategies as st

from sightplan.model import (
    Action,
    Answer,
    Asked,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    Feedback,
    FeedbackStatus,
    Form,
    GoalAdopted,
    Instance,
    Literal,
    ModelKnown,
    Observation,
    Observed,
    PastStep,
    Planned,
    PlanningResult,
    ProblemAdopted,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    Region,
    SeenThings,
    Stepped,
    Usage,
    Verdict,
)
from sightplan.model.perception import QUESTION_PURPOSES
from sightplan.model.query import Failed, Query, Reply, Rgb
from sightplan.queries import DetectInstances, answered
from sightplan.records.queries_json import named_prompt

NAMES = st.from_regex(r'[a-z][a-z0-9_]{0,3}', fullmatch=True)
TEXTS = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=12)
STAMPS = st.integers(1, 10**10)
SECONDS = st.floats(0, 100)
CHANCES = st.floats(0, 1)
ATOMS = st.builds(Atom, NAMES, st.lists(NAMES, max_size=2).map(tuple))
LITERALS = st.lists(st.builds(Literal, ATOMS, st.booleans()), max_size=3).map(tuple)
USAGES = st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9),
                               st.none() | SECONDS)
BOXES = st.builds(lambda x, y, label, p: Region(Form.BOX, ((x, y), (x + 0.5, y + 0.25)), label, p),
                  CHANCES, CHANCES, TEXTS, st.none() | CHANCES)
ACTIONS = st.builds(Action, NAMES, st.lists(NAMES, max_size=2).map(tuple), st.none() | BOXES)
PLANS = st.lists(ACTIONS, max_size=3).map(tuple)
IMAGES = st.integers(0, 3).map(lambda shade: np.full((4, 5, 3), shade * 60, np.uint8))


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """A picture, and what is known about it: all from its stamp, as one world tells it."""
    stamp_ns = draw(STAMPS)
    shade = stamp_ns % 4
    return Observation(
        np.full((4, 5, 3), shade * 60, np.uint8), stamp_ns, 'camera',
        text=(None, 'seen')[stamp_ns % 2], visible_objects=(None, ('a', 'b'))[shade // 2],
        privileged_facts={Atom('p', ('a',)): True} if shade == 3 else {})


@dataclass(frozen=True, slots=True)
class TallyReply(Reply):
    """How many there are."""

    number: int | None = None
    text: str = ''


@dataclass(frozen=True, eq=False)
class Tally(Query[TallyReply]):
    """A kind of query that none of our packages knows."""

    image: Rgb
    what: Atom
    kind: ClassVar[str] = 'tally'
    reply_type: ClassVar[type[Reply]] = TallyReply

    def summary(self) -> str:
        return f'how many {self.what}'


@st.composite
def other_queries(draw: st.DrawFn) -> Asked:
    """Events of queries that are no yes/no questions, one of them of a kind of another package."""
    seen = draw(observations())
    instance = st.builds(
        Instance, NAMES, BOXES, st.dictionaries(NAMES, CHANCES, min_size=1, max_size=2),
        st.dictionaries(NAMES, CHANCES, max_size=2), st.none() | CHANCES)
    things = st.tuples(
        st.builds(DetectInstances, st.just(seen), st.integers(1, 5), TEXTS, st.integers(1, 3)),
        st.builds(SeenThings, st.lists(instance, max_size=2).map(tuple), TEXTS, TEXTS,
                  model=TEXTS))
    tallies = st.tuples(st.builds(Tally, st.just(seen.image), ATOMS),
                        st.builds(TallyReply, st.none() | st.integers(0, 9), TEXTS))
    pairs = draw(st.lists(things, min_size=1, max_size=2) | st.lists(tallies, min_size=1,
                                                                     max_size=2))
    return Asked(seen, *map(tuple, zip(*pairs, strict=True)), seconds=draw(SECONDS),
                 model=draw(TEXTS), usage=draw(USAGES))


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """A batch of questions with their answers."""
    rows = draw(st.lists(st.tuples(st.builds(Question, ATOMS, TEXTS), st.builds(
        Answer, TEXTS, st.none() | CHANCES, st.none() | CHANCES, st.none() | CHANCES,
        st.booleans(), verdict=st.sampled_from(Verdict)),
        st.sampled_from((None, True, False))), max_size=3))
    questions, answers, expected = zip(*rows, strict=True) if rows else ((), (), ())
    prompt = draw(TEXTS)
    return draw(st.builds(
        answered, observations(), st.just(questions), st.just(answers), st.just(expected),
        st.sampled_from(QUESTION_PURPOSES), st.none() | ACTIONS, SECONDS, TEXTS, st.just(prompt),
        USAGES, TEXTS, words=st.just(named_prompt(prompt))))


@st.composite
def failed(draw: st.DrawFn) -> Asked:
    """A batch of questions of which the model answered some, if any."""
    event = draw(asked().filter(lambda one: one.queries))
    first = Failed(draw(TEXTS))
    return dataclasses.replace(event, expected=(), replies=(first, *event.replies[1:]))


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    """A reply of a planning model, read: planned if, and only if, it has actions."""
    actions = draw(PLANS)
    status = ProposalStatus.PLANNED if actions else draw(st.sampled_from(
        [one for one in ProposalStatus if one is not ProposalStatus.PLANNED]))
    return Proposal(status, actions, *(draw(TEXTS) for _ in range(3)), repaired=draw(
        st.booleans()), text=draw(TEXTS), model=draw(TEXTS), seconds=draw(SECONDS))


@st.composite
def steps(draw: st.DrawFn) -> Stepped:
    """An action, unless it was invalid, and its feedback."""
    status = draw(st.sampled_from(FeedbackStatus))
    return Stepped(draw(st.integers(0, 20)),
                   None if status is FeedbackStatus.INVALID else draw(ACTIONS),
                   Feedback(status, draw(TEXTS), draw(STAMPS)), draw(STAMPS), draw(SECONDS))


EVENT = st.one_of(
    st.builds(Observed, observations()), asked(),
    other_queries(),
    failed(),
    st.builds(GoalAdopted, LITERALS, TEXTS),
    st.builds(ProblemAdopted, st.dictionaries(NAMES, NAMES, max_size=3), LITERALS, TEXTS),
    st.builds(ModelKnown, TEXTS, TEXTS),
    st.builds(BeliefUpdated, st.builds(Belief, st.frozensets(ATOMS, max_size=3),
                                       st.dictionaries(ATOMS, CHANCES, max_size=3))),
    st.builds(Planned, st.builds(PlanningResult, plan=PLANS, seconds=SECONDS,
                                 cached=st.booleans(), message=TEXTS)),
    st.builds(Proposed, observations(), proposals(), TEXTS, USAGES, st.lists(
        st.builds(PastStep, TEXTS, TEXTS), max_size=2).map(tuple)),
    steps())

ENDED = st.builds(EpisodeEnded, message=TEXTS, steps=st.integers(0, 9),
                  remaining=st.integers(0, 9),
                  stamp_ns=STAMPS, seconds=SECONDS,
                  timings_s=st.dictionaries(NAMES, SECONDS, max_size=2))

EVENTS = st.builds(lambda events, ended: [*events, *ended], st.lists(EVENT, max_size=12),
                   st.lists(ENDED, max_size=1))
"""Events after the start, with or without an end."""
