"""Truth of answers in hindsight: recorded episodes tell more at their end than at each answer.

An episode is gone through again as the method ``belief`` would: answers, what is in view, actions
and what became of them. At its end what was true at each answer is better known than it was then:
a door that could be closed had been open. Nobody looks at the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.domains.problem_keys import problem_key
from sightplan.model import Atom, InputError
from sightplan.model.logged import LoggedAnswer
from sightplan.replay.batches import Source, Truth
from sightplan_belief.learning.calibration import Hindsight
from sightplan_belief.observation_model import ObservationModel
from sightplan_belief.replay.estimates import Estimating, Filtered, moments
from sightplan_belief.sampled_belief import SampledBelief


@dataclass(frozen=True)
class Recorded:
    """A recorded episode to learn from: a ``Follow`` of ``calibrate_episodes``.

    Attributes:
        source: the episode.
        model: exact name of the model that answered; '' if it has no answers.
        prompt: name and hash of the prompt, as recorded.
    """

    source: Source
    model: str
    prompt: str

    @property
    def domain(self) -> str:
        """Name of the domain."""
        return self.source.episode.domain.name

    def __call__(self, rates: ObservationModel) -> Hindsight:
        """Follow the episode with some rates; see ``calibration.Follow``."""
        episode = self.source.episode
        tracker = _tracker(self.source, rates)
        belief = tracker.belief
        assert isinstance(belief, SampledBelief)
        known, answers, truth = frozenset(belief.atoms), list[LoggedAnswer](), Truth()
        for event in moments(episode, [tracker]):
            seen, done = event.observation, belief.answered
            for question, answer in zip(event.questions, event.answers, strict=True):
                if question.atom in known and question.atom not in done:
                    done.add(question.atom)
                    if episode.domain.question(question.atom).text != question.text:
                        raise InputError(
                            f'{self.source.key}: {question.atom} was asked about in other words '
                            f'({question.text!r}) than domain {self.domain} uses today; rates '
                            f'are learned of one wording (leave this run out)')
                    answers.append(LoggedAnswer(
                        question.atom, answer,
                        truth.holds(self.source, seen, question.atom),
                        seen.image_id or f'stamp {seen.stamp_ns}', self.source.key,
                        problem_key(episode.spec.problem), self.domain, event.model,
                        episode.domain.question_hash, event.prompt))
            tracker.answer(event)
        return _hindsight(answers, belief)


def recorded(sources: Iterable[Source]) -> list[Recorded]:
    """The episodes that can be learned from in hindsight, each with the model that answered.

    Left out are those with lost events, and those of domains whose joint states are listed: such a
    belief keeps no past.

    Raises:
        InputError: several models answered in one episode.
    """
    found, sampled = [], dict[str, bool]()
    for source in sources:
        name = source.episode.domain.reference
        if name not in sampled:
            sampled[name] = isinstance(_tracker(source).belief, SampledBelief)
        if not sampled[name] or source.episode.lost:
            continue
        origins = {(moment.event.model, moment.event.prompt)
                   for moment in source.episode.timeline.batches}
        if len(origins) > 1:
            raise InputError(f'{source.name}: the answers of one episode are of several models or '
                             f'prompts: {", ".join(map(str, sorted(origins)))}')
        found.append(Recorded(source, *(origins.pop() if origins else ('', ''))))
    return found


def _tracker(source: Source, rates: ObservationModel | None = None) -> Filtered:
    tracker = Estimating('belief', rates=rates).track(source.episode)
    assert isinstance(tracker, Filtered)
    return tracker


def _hindsight(answers: Sequence[LoggedAnswer], belief: SampledBelief) -> Hindsight:
    if not answers:
        return Hindsight((), np.zeros(0), np.zeros((0, 2)))
    values, weights = belief.truths(), belief.weights
    assert len(values) == len(answers)
    unchanged = np.zeros((len(answers), 2))
    last: dict[Atom, int] = {}
    for number, answer in enumerate(answers):
        if answer.atom in last:
            before = values[last[answer.atom]]
            unchanged[number] = [(~values[number] & ~before) @ weights,
                                 (values[number] & before) @ weights]
        last[answer.atom] = number
    return Hindsight(tuple(answers), values @ weights, unchanged)
