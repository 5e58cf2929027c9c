"""Answers and actions of past runs, from which error rates are learned."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sightplan.model.answer import Answer
from sightplan.model.perception import Verdict
from sightplan.model.symbols import Action, Atom, State

_SEED = re.compile(r',? ?\bseed \d+')


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """A model's answer in a past run.

    Attributes:
        atom: what was asked.
        answer: what was answered.
        truth: what is true, None when nobody knows.
        image: which image it was about (within the episode).
        episode: which episode it belongs to.
        problem: key of the problem (see ``problem_key``), '' if unknown.
        domain: name of the domain.
        model: name of the model that answered.
        questions_sha256: hash of the wording of the questions.
        prompt: name and hash of the prompt around them, '' if the answer did not depend on it;
            None if unknown.
        where: file and line that it was read from, for messages; '' if there is none.
    """

    atom: Atom
    answer: Answer
    truth: bool | None = None
    image: str = ''
    episode: str = ''
    problem: str = ''
    domain: str = ''
    model: str = ''
    questions_sha256: str = ''
    prompt: str | None = None
    where: str = field(default='', compare=False)

    @property
    def verdict(self) -> Verdict:
        """Verdict of the answer: yes, no, unparsed or unknown."""
        return self.answer.verdict


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """An action in a past run, with the true states before and after it.

    Attributes:
        action: what was sent.
        executed: False: it was rejected.
        before: true state before.
        after: true state after.
        episode: which episode it belongs to.
        problem: key of the problem, '' if unknown.
        domain: name of the domain.
    """

    action: Action
    executed: bool
    before: State
    after: State
    episode: str = ''
    problem: str = ''
    domain: str = ''


def without_seed(model: str) -> str:
    """Return a model's name without the seed of its simulated errors; calibrations use it."""
    return _SEED.sub('', model)
