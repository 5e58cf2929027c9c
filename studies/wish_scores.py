"""Scores of understanding tasks: wishes that a model reads from words, against true vectors."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError, State
from sightplan.vlm.api import make_backend
from sightplan_suites.paths.labels import ORDER, Vector
from sightplan_suites.paths.scenarios import Scenario
from sightplan_suites.paths.wishes import (
    LESS,
    MORE,
    Wishes,
    WishSettings,
    understand,
    wish_questions,
)

Ask = Callable[[Scenario, str, str], Wishes]
"""Function that reads the wishes of a text; arguments: scenario (for simulated models), text,
id."""

_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class WishScore:
    """Score of the wishes read from texts.

    Attributes:
        texts: how many texts were asked about.
        vectors: of how many all seven signs were right.
        signs: of each descriptor, in how many texts its sign was right.
        turned: of each descriptor, in how many texts more was taken for less, or less for more.
        log_score: mean log probability of the right sign [nats], at most 0.
    """

    texts: int
    vectors: int
    signs: dict[str, int]
    turned: dict[str, int]
    log_score: float

    def to_json(self) -> dict[str, Any]:
        """The score as JSON data."""
        return {'texts': self.texts, 'vectors': self.vectors, 'signs': self.signs,
                'turned': self.turned, 'log_score': round(self.log_score, 4)}


def score_wishes(ask: Ask, scenarios: Iterable[Scenario], *, paraphrases: bool = True,
                 ) -> WishScore:
    """Compare the wishes read from texts with those of the scenarios.

    Args:
        ask: see ``Ask``.
        scenarios: what is asked about.
        paraphrases: whether about their paraphrases, too.

    Raises:
        InputError: there are no scenarios.
    """
    signs, turned = dict.fromkeys(ORDER, 0), dict.fromkeys(ORDER, 0)
    texts = vectors = 0
    total = 0.0
    for scenario in scenarios:
        for number, text in enumerate(
                (scenario.text, *(scenario.paraphrases if paraphrases else ()))):
            found = ask(scenario, text, f'{scenario.id}/{number}')
            texts += 1
            vectors += found.vector == scenario.vector
            for wish, sign in zip(found.wishes, scenario.vector, strict=True):
                signs[wish.name] += wish.sign == sign
                turned[wish.name] += wish.sign * sign == -1
                total += math.log(max(wish.probabilities[sign + 1], _LEAST))
    if not texts:
        raise InputError('scenarios: there are none (give one or more)')
    return WishScore(texts, vectors, signs, turned, total / (texts * len(ORDER)))


class _Truth:
    """Right answers about one task at a time; a TruthSource."""

    def __init__(self, settings: WishSettings) -> None:
        self._questions = wish_questions(settings)
        self.vector: Vector = ()

    def state(self, stamp_ns: int | None = None) -> State:
        """Questions whose right answer is yes."""
        signs = dict(zip(ORDER, self.vector, strict=True))
        yes = {MORE: 1, LESS: -1}
        return frozenset(question.atom for question in self._questions
                         if signs[question.atom.args[0]] == yes[question.atom.predicate])


def noisy_asker(error_true: float, error_false: float, *, unparsed: float = 0.0,
                together: float = 0.0, settings: WishSettings | None = None, seed: int = 0,
                ) -> Ask:
    """Asks a simulated model, the backend ``noisy_oracle``.

    Args:
        error_true: P("no" | yes is right).
        error_false: P("yes" | no is right).
        unparsed: P(the reply cannot be read).
        together: how strongly errors about one text hang together, by descriptor and by wording;
            see ``noisy_oracle``.
        settings: how much is asked, and what answers are taken to be worth.
        seed: of the errors.

    Raises:
        InputError: a rate is out of bounds.
    """
    settings = settings or WishSettings()
    truth = _Truth(settings)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / 'wishes.json'
        table.write_text(json.dumps({'rates': {'default': {
            'p_yes_true': 1 - error_true, 'p_yes_false': error_false, 'p_unparsed': unparsed}}}))
        backend: Any = make_backend('noisy_oracle', {
            'table': str(table), 'together': together, 'seed': seed}, truth)

    def ask(scenario: Scenario, text: str, name: str) -> Wishes:
        truth.vector = scenario.vector
        backend.start_episode(name)
        return understand(backend, text, settings)

    return ask
