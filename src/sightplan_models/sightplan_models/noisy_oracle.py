"""``noisy_oracle``: ground truth seen through a confusion table; no model, no pixels.

It stands in for a real vision-language model in experiments that need only its errors. The error
of every answer follows a table (``_confusion``), and errors persist as those of real models do:

* the same question about the same image always gets the same answer, as at temperature 0;
* about a new image, a wrong answer is wrong again with probability ``repeat`` as long as the truth
  of its atom has not changed. On recorded answers of real models to the ViPlan problems it
  was .3 to .6. A right answer turns wrong with probability e (1 - r) / (1 - e), so that the long
  run rate of errors is the table's e whatever r is (r is never below e: that is independence);
* when the truth has changed, the error is drawn afresh.

Errors about one picture hang together where ``together`` is not 0: the draws behind them have a
part that the whole picture shares and one for each thing in question (``_hashed_draws``). Rates
and persistence stay what they are; errors come in clusters. A run takes the strength from its
domain (``errors_together``; household .3, blocksworld 0) unless it is given. On the first
enumerations of household's 75 problems (71 pictures, 16 models, 4 seeds, 75,842 answers; rates
fitted per model, split, predicate and truth) .3 gives, against what real models' answers to the
ViPlan problems gave:

* number of errors per picture: variance 1.6 times the binomial's (median of model and split; 5 to
  95 %: .7 to 5.4), against 1.5 (up to 8); without it .9;
* correlation of two errors about a common thing: nextto/nextto .09 (.11), ontop/ontop .07 (.08),
  holding/inside .10 (.09), inside/ontop .05 (.17), inside/inside .04 (.24); of all such pairs .08;
* about different things: .02 over all pairs (below .07; inside/inside .14, which is not modelled).

A question in words, about no predicate, errs as the table's answers do overall (or as its entry
``default`` says).

Where a table has rates of answers with and without reasons, ``cot`` says which are used. Where the
prompt offers "unknown" as an answer, it is given as often as the table says (``p_unknown_true``,
``p_unknown_false``; without them never), and persists as errors do. With the setting
``cannot_tell`` some answers say so unasked, as often of what is true as of what is false.

Every draw is a hash of seed, episode, atom and image, so that the order of questions about an
image does not matter. It has no probabilities to offer: ``p_yes`` and ``p_no`` are None.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.model import Atom, TruthSource, param
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan.queries.yes_no import state_about
from sightplan_models._confusion import ConfusionTable, Rates, load_table
from sightplan_models._hashed_draws import draw
from sightplan_models._truths import episode_of

UNREADABLE = '(noisy_oracle: an answer that cannot be read)'
UNKNOWN = 'Unknown'
CANNOT_TELL = 'I cannot tell.'


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``noisy_oracle``."""

    table: str = param('perfect', 'Confusion table: "perfect", the name of a model that comes '
                       'with the package, or the path of a .json or .yaml file, such as rates: '
                       '{default: {p_yes_true: 0.9, p_yes_false: 0.1}}')
    split: str = param('auto', 'Row of the table; "auto": that of the episode if the table has '
                       'it, else the mean over its splits')
    cot: str = param('auto', 'Whether to use the rates of answers given after a chain of thought: '
                     'auto (as the model is asked), yes or no; a table of yours has one kind of '
                     'rates, which are used for both', choices=('auto', 'yes', 'no'))
    pseudo_count: float = param(
        0.0, 'Added to the counts of right and of wrong answers behind each rate, where a table '
        'gives counts: 0.5 (Jeffreys) keeps "no error in 12 answers" from meaning "never wrong"',
        low=0.0, high=100.0)
    cannot_tell: float = param(0.0, 'Probability of the answer that it cannot be told, also where '
                               'the prompt does not offer it; no paper that we know publishes it',
                               low=0.0, high=1.0)
    seed: int = param(0, 'Seed of the errors', low=0)
    together: float = param(
        0.0, "Correlation of errors about one picture, 0 for independent ones; not given: the "
        "run domain's value", low=0.0, high=1.0)
    repeat: float = param(0.45, 'Probability that a wrong answer is wrong again on a new image '
                          'while the truth is the same (real models: .3 to .8)', low=0.0, high=1.0)

    def __post_init__(self) -> None:
        """Take true and false for yes and no, as YAML does."""
        plain = {'true': 'yes', 'false': 'no'}.get(str(self.cot).lower(), self.cot)
        object.__setattr__(self, 'cot', plain)


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the rates; see ``api.backend_content``."""
    tables = [load_table(settings.table, cot, settings.pseudo_count) for cot in (False, True)]
    return hashlib.sha256(repr(tables).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Past:
    """The last answer about an atom."""

    truth: bool
    wrong: bool
    unread: bool
    unknown: bool
    silent: bool


class Backend(ModelByKind):
    """Answers from ground truth with a real model's errors."""

    traits = Traits('state', pixels=False, texts=True, history=True,
                    prompt=False)  # whether reasons are asked for is in its name

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Load the confusion table.

        Raises:
            InputError: the table is unknown or malformed.
        """
        self._settings = settings
        self._truth = truth
        tables = {cot: load_table(settings.table, cot == 'yes', settings.pseudo_count)
                  for cot in (('no', 'yes') if settings.cot == 'auto' else (settings.cot,))}
        self._tables = {reasoning: tables.get('yes' if reasoning else 'no',
                                              next(iter(tables.values())))
                        for reasoning in (False, True)}
        self._split = settings.split
        self._episode = ''
        self._past: dict[tuple[str, bool, Atom], _Past] = {}
        self._given: dict[tuple[str, bool, str, Atom], Answer] = {}

    @property
    def name(self) -> str:
        """Table and settings, for example ``noisy_oracle(gpt-4.1/plain, repeat 0.45, seed 0)``.

        ``/plain`` and ``/cot`` tell the kind of rates, ``/as asked`` that each request decides;
        a table with one kind of rates has none of these in its name.
        """
        split = '' if self._settings.split == 'auto' else f' {self._settings.split}'
        name, cot = (self._tables[reasoning].name for reasoning in (False, True))
        if name != cot:
            name = name.replace('/plain', '/as asked')
        together = f'together {self._settings.together:g}, ' if self._settings.together else ''
        silent = (f'cannot tell {self._settings.cannot_tell:g}, '
                  if self._settings.cannot_tell else '')
        return (f'noisy_oracle({name}{split}, repeat {self._settings.repeat:g}, {together}{silent}'
                f'seed {self._settings.seed})')

    def start_episode(self, episode_id: str, split: str = '') -> None:
        """Forget the history; with ``split: auto`` the episode's split chooses the row."""
        self._new_episode(episode_id)
        if self._settings.split == 'auto':
            self._split = split

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image, in order.

        Raises:
            InputError: the table has no rates for a predicate, or no truth tells the right answer
                to a question in words.
            WorldError: there is no ground truth for the time of the image.
        """
        observation, prompt = queries[0].observation, queries[0].prompt
        image = observation.image_id or f'stamp {observation.stamp_ns}'
        state = state_about(observation, [query.question for query in queries], self._truth)
        # A truth source that knows its episode (a service does) makes start_episode unnecessary.
        episode = episode_of(self._truth)
        if episode and episode != self._episode:
            self._new_episode(episode)
        table = self._tables[prompt.reasoning]
        return [self._reply(table, query.question.atom, query.question.atom in state, image,
                            prompt.unknown) for query in queries]

    def _new_episode(self, episode: str) -> None:
        self._episode = episode
        self._past.clear()
        self._given.clear()

    def _reply(self, table: ConfusionTable, atom: Atom, truth: bool, image: str,
               offered: bool) -> Answer:
        """The answer about an atom; ``offered``: whether it may be "unknown"."""
        key = (table.name, offered, image, atom)
        given = self._given.get(key)
        if given is None:
            rates = table.rates(self._split, atom.predicate)
            past = self._past.get((table.name, offered, atom))
            drawn = self._draw(atom, truth, image, rates, past)
            self._past[table.name, offered, atom] = drawn
            given = Answer(UNREADABLE if drawn.unread
                               else CANNOT_TELL if drawn.silent
                               else UNKNOWN if offered and drawn.unknown
                               else 'No' if truth is drawn.wrong else 'Yes')
            self._given[key] = given
        return given

    def _draw(self, atom: Atom, truth: bool, image: str, rates: Rates,
              past: _Past | None) -> _Past:
        same = past if past is not None and past.truth is truth else None
        error = rates.error_true if truth else rates.error_false
        unread_rate = 1.0 if error is None else rates.unparsed
        unknown_rate = rates.unknown_true if truth else rates.unknown_false
        return _Past(
            truth,
            self._happens('wrong', error or 0.0, same.wrong if same else None, atom, image),
            self._happens('unread', unread_rate, same.unread if same else None, atom, image),
            self._happens('unknown', unknown_rate, same.unknown if same else None, atom, image),
            self._happens('cannot tell', self._settings.cannot_tell, same.silent if same else None,
                          atom, image))

    def _happens(self, kind: str, rate: float, before: bool | None, atom: Atom,
                 image: str) -> bool:
        chance = self._chance(rate, before)
        return chance > 0.0 and draw(self._settings.together, atom, (
            str(self._settings.seed), self._episode, kind, image)) < chance

    def _chance(self, rate: float, before: bool | None) -> float:
        """Probability of a fault with long-run rate ``rate``, given the last answer's fault."""
        if before is None or rate in (0.0, 1.0):
            return rate
        again = max(self._settings.repeat, rate)
        return again if before else rate * (1.0 - again) / (1.0 - rate)
