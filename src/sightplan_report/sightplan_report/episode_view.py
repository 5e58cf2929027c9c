"""An episode as people read it: plain data, of which its page, text and JSON are made.

``episode_reader.view`` makes it out of an episode's bag, or its line of results alone;
``deciding_answers.decide`` adds which answers decided. Ground truth is in ``EpisodeView.truth``,
in the fields ``truth`` of answers, and in what is for pages only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.judgements import says
from sightplan.model import Atom, Belief
from sightplan.model.judged_answer import JudgedAnswer
from sightplan.records.behaviour_tree import NodeChange
from sightplan_report.episode_words import result_text

_HALF = 0.5
_FOLD = 8
"""Number of questions of a batch from which on a page folds those that matter least."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A literal, and the belief in it.

    Attributes:
        text: the literal, such as ``not open drawer_1``.
        probability: that the literal holds; None where the belief had no number.
        held: whether it was taken to hold; None: nothing was believed yet.
    """

    text: str
    probability: float | None
    held: bool | None


@dataclass(frozen=True, slots=True)
class Change:
    """An atom of which the belief changed.

    Attributes:
        atom: the atom.
        before: P(it is true); 1 and 0 where the belief has no numbers; None: nothing was believed.
        after: likewise.
        truth: whether it is true; None where that is not known, or kept apart.
        goal: whether the goal mentions it, as far as that is told.
    """

    atom: str
    before: float | None
    after: float | None
    truth: bool | None = None
    goal: bool = False

    @property
    def moved(self) -> float:
        """Absolute change; what was not believed counts as 0."""
        return abs((self.after or 0.0) - (self.before or 0.0))


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A question, its answer, and the answer's effect on the belief.

    Attributes:
        place: number in its batch, from 0.
        question: as it was put to the model.
        atom: what it is about.
        answer: yes, no, unparsed or unknown.
        p_yes: ``Answer.p_yes_shown``; None where the model gave none.
        expected: what the method expected; None: nothing.
        before: P(atom) before the batch, 1 or 0 where the belief has no numbers; None: nothing
            was believed, or the question is about another picture.
        after: likewise after it.
        matters: what it matters for most: ``precondition``, ``goal``, ``plan``; '' for nothing
            known.
        reply: what the model wrote, where that is more than the answer, or why it cannot tell.
        truth: whether the atom is true; None where that is not known, or kept apart.
        bound: ``Answer.bound``: '≤' or '≥' where ``p_yes`` is only bounded; else ''.
        goal: whether the goal mentions the atom.
    """

    place: int
    question: str
    atom: str
    answer: str
    p_yes: float | None = None
    expected: bool | None = None
    before: float | None = None
    after: float | None = None
    matters: str = ''
    reply: str = ''
    truth: bool | None = None
    bound: str = ''
    goal: bool = False

    @property
    def said(self) -> str:
        """The answer in words: yes, no, could not be read, or cannot tell."""
        return {'unparsed': 'could not be read', 'unknown': 'cannot tell'}.get(
            self.answer, self.answer)

    @property
    def tags(self) -> list[str]:
        """All that it is known to matter for."""
        return [*([self.matters] if self.matters else []),
                *(['goal'] if self.goal and self.matters != 'goal' else [])]

    @property
    def wrong(self) -> bool:
        """Whether the answer is known not to say what is true."""
        said = says(self.answer)
        return said is None or self.truth not in (None, said)

    @property
    def moved(self) -> float:
        """Absolute change of the belief in its atom with its batch."""
        if self.after is None:
            return 0.0
        return abs(self.after - (_HALF if self.before is None else self.before))

    @property
    def tells_belief(self) -> bool:
        """Whether the belief says more than the answer: else it only has the answer as a state."""
        said = says(self.answer)
        return self.after is not None and not (
            said is not None and self.after == float(said) and self.before in (None, self.after))

    @property
    def surprising(self) -> bool:
        """Whether the method had expected another answer."""
        return self.expected is not None and says(self.answer) not in (None, self.expected)

    @property
    def importance(self) -> tuple[bool, int, float]:
        """Sorts answers: the likeliest ones to have decided an action come first."""
        return (not self.surprising, {'precondition': 0, 'goal': 0, 'plan': 1}.get(
            self.matters, 2), -self.moved)


def rows_of(answers: Iterable[JudgedAnswer], matters: Mapping[Atom, str],
            goal: Collection[Atom] = (), before: Belief | None = None,
            after: Belief | None = None) -> tuple[AnswerRow, ...]:
    """Yes/no questions and their answers as people read them.

    Args:
        answers: of one batch.
        matters: what atoms matter for.
        goal: the atoms of the goal.
        before: the belief before; None: not said.
        after: likewise.
    """
    rows = []
    for judged in answers:
        atom, answer = judged.question.atom, judged.answer
        text = answer.text.strip()
        if text.strip('.').lower() in ('', 'yes', 'no', 'unknown'):
            text = answer.reason
        rows.append(AnswerRow(
            judged.place, judged.question.text, str(atom), answer.verdict.value,
            answer.p_yes_shown, judged.expected, _p(before, atom), _p(after, atom),
            matters.get(atom, ''), text, judged.truth, answer.bound, atom in goal))
    return tuple(rows)


def _p(belief: Belief | None, atom: Atom) -> float | None:
    return None if belief is None else believed(belief, atom)


def believed(belief: Belief, atom: Atom) -> float:
    """P(atom), or 1 and 0 for true and false where a belief has no numbers."""
    return belief.probabilities.get(atom, float(atom in belief.state))


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions that were asked together, about one picture.

    Attributes:
        number: of the batch in the episode, from 0; -1 where that is not known.
        about: why they were asked, in words.
        image_id: of the picture.
        seconds: that it took; None where that is not known.
        model: that answered.
        rows: the questions; the wrong ones alone where there is no bag.
        prompt: how they were asked.
    """

    number: int
    about: str
    image_id: str
    seconds: float | None
    model: str
    rows: tuple[AnswerRow, ...]
    prompt: str = ''


@dataclass(frozen=True, slots=True)
class Picture:
    """A camera image, small.

    Attributes:
        uri: that holds it; '' where it was shown in an earlier step already.
        image_id: of the observation.
        note: for people: when it was taken, or where it was shown.
        width: of the picture [pixels].
        height: likewise.
    """

    uri: str
    image_id: str
    note: str
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of an episode, as its page shows it.

    Attributes:
        kind: observation, questions, belief, plan, proposal, act or end.
        title: in words.
        seconds: that it took, None where that is not known.
        picture: what was seen, of an observation.
        batch: the questions.
        changes: of a belief.
        texts: label and text, of what a model or planner wrote; of an observation, the privileged
            facts that came with it.
        facts: short remarks.
        good: False marks what went wrong, None what is neither.
    """

    kind: str
    title: str
    seconds: float | None = None
    picture: Picture | None = None
    batch: Batch | None = None
    changes: tuple[Change, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    facts: tuple[str, ...] = ()
    good: bool | None = None


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Decision that another answer would have led to.

    Attributes:
        decision: in words.
        differs: whether something else was decided.
        unanswered: questions that would have been asked besides, and have no recorded answer: they
            were taken for unreadable.
    """

    decision: str
    differs: bool
    unanswered: int = 0

    def __str__(self) -> str:
        if not self.unanswered:
            return self.decision
        return (f'first ask {self.unanswered} question{"s" if self.unanswered > 1 else ""} that '
                f'{"were" if self.unanswered > 1 else "was"} never asked; without a readable '
                f'answer to {"them" if self.unanswered > 1 else "it"}: {self.decision}')


@dataclass(frozen=True, slots=True)
class Tested:
    """Decision with one answer changed; see ``replay.decisions``.

    Attributes:
        batch: number of the answer's batch in the episode.
        place: the answer's place in it.
        without: without the answer; None: not tested.
        opposite: on the opposite answer; None: not tested.
    """

    batch: int
    place: int
    without: Otherwise | None = None
    opposite: Otherwise | None = None


@dataclass(frozen=True, slots=True)
class Deciding:
    """The answer that decided, and how it was found.

    Attributes:
        how: ``replayed``: the method was run again with answers changed; ``belief``: the answer
            with the greatest change of belief; ``words``: the model's own proposal decided;
            ``none``: nothing was asked.
        text: in words.
        batch: number of the batch of the answer that decided, or whose opposite would; None
            without one.
        place: its place in it.
        tested: what was tested.
    """

    how: str
    text: str
    batch: int | None = None
    place: int | None = None
    tested: tuple[Tested, ...] = ()

    @property
    def effect(self) -> str:
        """Effect of the answer: it decided, or its opposite alone would lead to something else."""
        kept = any((one.batch, one.place) == (self.batch, self.place) and one.without is not None
                   and not one.without.differs for one in self.tested)
        return 'its opposite decides' if kept else 'decided'


@dataclass(frozen=True, slots=True)
class Why:
    """Reason for which an action was chosen.

    Attributes:
        text: in words.
        plan: the plan that it is a step of, from its first action on; empty without one.
        step: its number in it, from 1; 0 without a plan.
        towards: literals of the goal that were not taken to hold, with their belief.
        alternatives: other plans that were found for this decision.
        explanation: the model's own reasoning.
        reply: the model's reply as it came.
        history: earlier steps as the prompt told them: action and outcome.
    """

    text: str
    plan: tuple[str, ...] = ()
    step: int = 0
    towards: tuple[Fact, ...] = ()
    alternatives: tuple[str, ...] = ()
    explanation: str = ''
    reply: str = ''
    history: tuple[tuple[str, str], ...] = ()


Scene = tuple[Entry | None, list[Entry]]
"""An observation (None: before the first), with the entries until the next one."""


@dataclass(frozen=True, slots=True)
class StepView:
    """Events that led to one action, or to the end, and the result.

    Attributes:
        number: of the action, from 0; None for what came after the last one.
        action: the action; '' where none could be read, and for the end.
        status: executed, rejected, withheld or invalid; '' for the end.
        became: what became of it, in words.
        deciding: which answer decided.
        why: why this action.
        act: the action, or the end; for pages only.
        stamp_s: time of the world when it was decided [s].
        pictures: ids of the pictures that were looked at last.
        preconditions: of the action, as they were believed when it was decided.
        obstacles: what would keep it from being legal besides: each, if all of its literals hold;
            the likeliest ones.
        goal: literals of the goal, likewise.
        provided: number of privileged facts that were provided.
        things: what was told apart, in words.
        batches: what was asked since the action before.
        believed: whether a belief was recorded since the action before; else nothing is said of
            what was believed.
        then: how the belief changed until the next decision.
        tree: changes of nodes of a behaviour tree meanwhile.
        entries: what happened before it, in order; for pages only, as are all that follow.
        checks: how its effects were asked for: the questions are among the next step's batches.
        here: whether the failure shows here.
    """

    number: int | None
    action: str
    status: str
    became: str
    deciding: Deciding
    why: Why
    act: Entry
    stamp_s: float | None = None
    pictures: tuple[str, ...] = ()
    preconditions: tuple[Fact, ...] = ()
    obstacles: tuple[tuple[Fact, ...], ...] = ()
    goal: tuple[Fact, ...] = ()
    provided: int = 0
    things: tuple[str, ...] = ()
    batches: tuple[Batch, ...] = ()
    believed: bool = False
    then: tuple[Change, ...] = ()
    tree: tuple[NodeChange, ...] = ()
    entries: tuple[Entry, ...] = ()
    checks: tuple[Entry, ...] = ()
    here: bool = False

    @property
    def title(self) -> str:
        """The action, and what became of it."""
        return self.act.title

    @property
    def wrong(self) -> int:
        """Number of wrong answers that its page shows."""
        return sum(row.wrong for entry in (*self.entries, *self.checks) if entry.batch
                   for row in entry.batch.rows)

    @property
    def scenes(self) -> list[Scene]:
        """Entries before the action, grouped by observation; at least one group."""
        return _scenes(self.entries) or [(None, [])]

    @property
    def scenes_after(self) -> list[Scene]:
        """Entries about the checks of the effects of the action, grouped by observation."""
        return _scenes(self.checks)


def _scenes(entries: Iterable[Entry]) -> list[Scene]:
    found: list[Scene] = []
    for entry in entries:
        if entry.kind == 'observation':
            found.append((entry, []))
        elif found:
            found[-1][1].append(entry)
        else:
            found.append((None, [entry]))
    return found


@dataclass(frozen=True, slots=True)
class TruthExplained:
    """Ground truth about the episode, for people after the run; no method sees it.

    Attributes:
        result: whether the episode was solved, in words.
        first: where belief and truth first differed, in words.
        step: the step where that was; None: at the end, or nowhere.
        differences: the atoms of that belief that were wrong.
        answers: wrong answers about them: step, question, answer.
        outcomes: of actions that did not do what they should: step, action, outcome.
        wrong_answers: number of wrong answers in the episode.
        goal_unmet: literals of the goal that did not hold at the end.
        cause: of the failure, in words; '' for none.
    """

    result: str
    first: str = ''
    step: int | None = None
    differences: tuple[Change, ...] = ()
    answers: tuple[tuple[str, str, str], ...] = ()
    outcomes: tuple[tuple[int, str, str], ...] = ()
    wrong_answers: int = 0
    goal_unmet: tuple[str, ...] = ()
    cause: str = ''


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """One episode.

    Attributes:
        id: of the episode.
        title: its id, and which attempt.
        method: its name.
        about: what the method does, in one sentence.
        model: that answered or planned; '' for none.
        problem: domain, split and problem.
        instruction: as it was given; '' without.
        goal: its literals, as the method knew them.
        goal_from: how the method knew its goal, in words.
        ended: the reason, as results have it; '' where the recording ends before the episode.
        stopped: why it stopped, in words.
        budget: actions allowed.
        steps: in order; the last one is the end.
        truth: what ground truth adds; None where none was recorded.
        notes: what is missing, and how to get it.
        line: its line of results; for pages only, as are all that follow.
        reached: each literal of the goal, and whether it held at the end (None: not known);
            without a bag only those that did not hold.
        recorded: whether there is a bag.
        run: name of its run; '' for none.
        picture: that shows the failure, where steps have no pictures.
        key: id of its section, unique in the page.
        tested: how deciding answers were found, in words.
    """

    id: str
    title: str
    method: str
    about: str
    model: str
    problem: str
    instruction: str
    goal: tuple[str, ...]
    goal_from: str
    ended: str
    stopped: str
    budget: int | None
    steps: tuple[StepView, ...]
    truth: TruthExplained | None
    notes: tuple[str, ...]
    line: Mapping[str, Any] = field(repr=False)
    reached: tuple[tuple[str, bool | None], ...]
    recorded: bool
    run: str
    picture: Picture | None
    key: str
    tested: str = ''

    @property
    def solved(self) -> bool | None:
        """Whether it was; None for one that is not scored."""
        return measures.solved(self.line)

    @property
    def result(self) -> str:
        """Its result by ground truth, in words."""
        return result_text(self.line)

    @property
    def subtitle(self) -> str:
        """Method, model, problem and run."""
        return ', '.join(filter(None, (self.method, self.model, self.problem, self.run)))

    def effect(self, batch: Batch, row: AnswerRow) -> str:
        """Effect of an answer on an action, in words; '' for nothing that is known."""
        return next((step.deciding.effect for step in self.steps if (batch.number, row.place) == (
            step.deciding.batch, step.deciding.place)), '')

    def parted(self, batch: Batch) -> tuple[list[AnswerRow], list[AnswerRow]]:
        """The questions of a batch, what matters most first; the second list is folded."""
        def striking(row: AnswerRow) -> bool:
            return bool(self.effect(batch, row) or row.wrong or row.surprising
                        or row.goal or row.matters == 'precondition')
        order = sorted(batch.rows, key=lambda row: (
            not self.effect(batch, row), not row.wrong, not striking(row), row.importance))
        shown = max(_FOLD, sum(map(striking, order)))
        return order[:shown], order[shown:]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data: all fields but those for pages only."""
        data = _without(self, ('line', 'reached', 'recorded', 'run', 'picture', 'key'))
        return {**data, 'steps': [_without(step, (
            'act', 'entries', 'checks', 'here')) for step in self.steps]}


def _without(view: EpisodeView | StepView, names: Collection[str]) -> dict[str, Any]:
    """Fields as JSON data, but for some."""
    return {name: value for name, value in dataclasses.asdict(view).items() if name not in names}


Tester = Callable[[int, tuple[int, int]], Tested]
"""Changes an answer (batch, place) before a decision (its number)."""
