"""``answers.jsonl`` of a run: every answer and every executed action, with the truth.

``sightplan calibrate`` learns from this file. It has one line per answer, with ``answer`` "yes",
"no", "unknown" or null (unreadable), and one per executed or rejected action, with the true atoms
before and after. Each line names its ``episode``, ``step`` (actions so far) and ``problem`` (see
``problem_key``). The truth comes from the world, never from the agent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from sightplan.domains.problem_keys import problem_key
from sightplan.model import (
    Asked,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    InfrastructureError,
    State,
    Stepped,
    TruthSource,
    Verdict,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.journal import Journal
from sightplan.model.timeline import Moment

NAME = 'answers.jsonl'


class AnswersLog(EventHandler):
    """Notes answers and actions as they are folded, and commits them episode by episode.

    The truth of answers is that of the timeline. The states around actions are asked of the world:
    a timeline has them only for suites that score the way, since on ROS each state is a call.

    The lines of an episode are written, with one call, before the episode itself is committed to
    the run store; lines of episodes that never were committed are dropped by ``open``.
    """

    def __init__(self, folder: Path, truth: TruthSource, questions_sha256: str,
                 reads_prompt: bool = True) -> None:
        """Name the run directory; nothing is touched before ``open``.

        Args:
            folder: the run directory.
            truth: ground truth of the world, for the states around actions.
            questions_sha256: hash of the wording of the questions.
            reads_prompt: whether answers depend on the prompt around the questions; if not,
                lines have prompt ''.
        """
        self._journal = Journal(folder / NAME)
        self._truth = truth
        self._questions = questions_sha256
        self._reads_prompt = reads_prompt
        self._spec: EpisodeSpec | None = None
        self._lines: list[dict[str, Any]] = []
        self._state: State | None = None

    def open(self, done: AbstractSet[str]) -> None:
        """Keep the lines of committed episodes, as far as they are there, and no others.

        Raises:
            InputError: the file cannot be written, or a line is damaged.
            StorageError: the disk is full, or broken.
        """
        self._journal.open()
        with self._journal.locked():
            lines = [line.data for line in self._journal.take_up()[1].lines]
            kept = [line for line in lines if line.get('episode') in done]
            if len(kept) < len(lines):
                self._journal.replace(kept)

    def take(self, moment: Moment[EpisodeEvent]) -> None:
        """Take the next event of an episode, with the truth joined in."""
        self._moment = moment
        with contextlib.suppress(InfrastructureError):  # the scorer reports missing truth
            self.record(moment.event)

    def on_started(self, event: EpisodeStarted) -> None:
        """Begin an episode."""
        self._spec, self._lines, self._state = event.spec, [], None
        self._state = self._truth.state()

    def commit(self) -> None:
        """Append the lines of the episode that has ended.

        Raises:
            StorageError: the lines could not be written; none of them is kept.
        """
        with self._journal.locked():
            self._journal.take_up()
            self._journal.append(*self._lines)
        self._lines = []

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def on_asked(self, event: Asked) -> None:
        """Note each answer to a yes/no question whose truth is known."""
        assert self._spec is not None
        observation = event.observation
        for judged in self._moment.judged:
            if judged.truth is None:
                continue
            answer = judged.answer
            unread = answer.verdict is Verdict.UNPARSED
            self._lines.append({
                'episode': self._spec.id, 'split': self._spec.split,
                'problem': problem_key(self._spec.problem), 'domain': self._spec.problem.domain,
                'model': event.model, 'questions_sha256': self._questions,
                'prompt': event.prompt if self._reads_prompt else '', 'step': judged.step,
                'image': observation.image_id or f'stamp {observation.stamp_ns}',
                'stamp_ns': observation.stamp_ns, 'purpose': event.purpose.value,
                'atom': str(judged.question.atom),
                'answer': None if unread else answer.verdict.value,
                'p_yes': answer.p_yes, 'p_no': answer.p_no,
                **({'bounded': True} if answer.bounded else {}), 'truth': judged.truth})

    def on_stepped(self, event: Stepped) -> None:
        """Note an action that was sent with the states before and after."""
        assert self._spec is not None
        step, before = self._moment.step, self._state
        if event.feedback.status not in (FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED):
            return
        self._state = None
        self._state = self._truth.state()
        if before is None:
            return
        self._lines.append({
            'episode': self._spec.id, 'problem': problem_key(self._spec.problem),
            'domain': self._spec.problem.domain, 'step': step, 'action': str(event.action),
            'status': event.feedback.status.value, 'outcome': self._truth.last_outcome(),
            'before': sorted(map(str, before)), 'after': sorted(map(str, self._state))})
