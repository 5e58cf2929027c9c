"""The contract of a suite, with which runs, scores, reports and commands work.

A suite of your own is one file with a class that inherits from ``Suite``, overrides what it has,
and one object of it; everything else has a default. It is found as an entry point of the group
``sightplan.suites`` whose value is the object (``my_pictures = my_package.my_pictures:suite``), or
by the path of the file, which then calls the object ``suite``. Larger suites are folders
(``runs.suite_folder``). ``sightplan suite NAME contract`` checks either (``runs.suite_contract``).

A suite of samples needs ``samples``, and, where more counts than whether the answer is the truth,
``measures`` and ``score``. It may override ``read`` (the answer that a reply gives), ``write``,
``guess``, ``prompt``, ``place_words`` (words of a user's folder that ask for places), ``page``
(what people are shown of a sample), ``settings``, ``tables``, ``figures`` and ``published``;
``problems``, ``domains``, ``episode_measures`` and ``episode_details`` are about episodes.

Items are episodes or samples. A suite may have both; then its splits tell which (``kind_of``).
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures
from sightplan.metrics.measures import Measure
from sightplan.model import InputError, Privileged, Problem, State, did_you_mean
from sightplan.model.region import Region
from sightplan.model.sample import Sample, SampleData, SampleReply
from sightplan.runs.effort import EffortNumbers
from sightplan.runs.published import PublishedNumbers
from sightplan.runs.settings import OURS
from sightplan.runs.suite_parts import (
    CheckReport,
    PlaceWords,
    SamplePage,
    Samples,
    Scored,
    SuitePrompt,
    Unread,
    Verbs,
    read_yes_no,
    says_yes,
    shown_pictures,
)
from sightplan.runs.suite_rules import (
    ALL_SAMPLES,
    BOTH,
    EPISODES,
    SAMPLES,
    DomainRules,
    ProtocolEntry,
)

if TYPE_CHECKING:
    from sightplan.domains import Domain

_NO_RULES: Mapping[str, DomainRules] = MappingProxyType({})
_NO_PROTOCOLS: Mapping[str, tuple[ProtocolEntry, ...]] = MappingProxyType({})


@runtime_checkable
class Suite(Protocol):
    """A benchmark: its items, how replies are read and scored, and what it is compared with.

    A suite of samples must have ``name``, ``title``, ``splits`` and ``samples``; one of episodes
    ``name``, ``title`` and ``domains``.

    Attributes:
        name: what it is called in commands and results.
        title: name for people.
        paper: citation, '' without one.
        splits: names of the splits of samples; () for a suite of episodes.
        domains: of episodes: each domain's splits and rules, by the domain's name.
        failure_probability: of actions, in the main results.
        seed: seed of the main results.
        sample_kinds: details of samples that tell their kinds, such as ``predicate``: a run with
            fewer samples than there are takes some of each kind.
        asks_for_text: whether all its samples ask for text, so that a model that writes none is
            refused before they are drawn.
        protocols: its rule sets besides ``ours``, such as ``paper``: what each sets in a run.
        published: the numbers of its paper.
        effort: measured numbers of questions of its episodes, for estimates.
    """

    name: str
    title: str
    paper: str = ''
    splits: tuple[str, ...] = ()
    domains: Mapping[str, DomainRules] = _NO_RULES
    failure_probability: float = 0.0
    seed: int = 0
    sample_kinds: tuple[str, ...] = ()
    asks_for_text: bool = False
    protocols: Mapping[str, tuple[ProtocolEntry, ...]] = _NO_PROTOCOLS
    published: PublishedNumbers = PublishedNumbers()
    effort: EffortNumbers = EffortNumbers()

    @property
    def folder(self) -> Path:
        """The folder of the suite's files; by default that of the module that has its class."""
        return self.source.parent

    @property
    def source(self) -> Path:
        """The path that messages name; by default the file that defines the suite's class."""
        return Path(inspect.getfile(type(self))).resolve()

    @property
    def rules_file(self) -> Path:
        """The path that messages about the suite's rules name; by default ``source``."""
        return self.source

    @property
    def settings(self) -> type[Any] | None:
        """Dataclass of the options that ``samples`` takes; None, as here: it takes none."""
        return None

    @property
    def verbs(self) -> Verbs:
        """The suite's changes to ``sightplan suite NAME``; none by default."""
        return Verbs()

    # --- items --------------------------------------------------------------------------------

    def samples(self, split: str, options: Mapping[str, Any]) -> Samples:
        """Make or load the samples of a split.

        Args:
            split: one of ``splits``.
            options: fields of ``settings``.

        Raises:
            InputError: an unknown option or a bad value, or data that cannot be used.
        """
        raise InputError(f'suite {self.name} makes no samples; add a method samples(split, '
                         f'options) to {type(self).__name__}')

    def problems(self, data: Path) -> Mapping[str, tuple[Domain, Problem]]:
        """The usable problems of a folder of data, by their ids.

        Raises:
            InputError: there is no such folder, or not one usable problem.
        """
        raise InputError(f'suite {self.name} reads no problems; add a method problems(data) to '
                         f'{type(self).__name__}')

    def check(self, data: Path) -> CheckReport:
        """Count the usable entries in a folder of data, and list the unusable ones.

        Raises:
            InputError: there is no such folder, or the suite has no folders of data.
        """
        raise InputError(f'suite {self.name} cannot check: it has no folders of data')

    def generate(self, out: Path, count: int, seed: int) -> Mapping[str, Any]:
        """Write a folder of data, drawn from a seed.

        Args:
            out: the folder; it is made, and must not hold data yet.
            count: how much of it.
            seed: one seed always gives the same files.

        Returns:
            how much was written, by kind.

        Raises:
            InputError: the folder holds data already, or the suite draws none.
        """
        raise InputError(f'suite {self.name} cannot generate: it draws no data')

    @property
    def can_check(self) -> bool:
        """Whether it has folders of data, which ``check`` counts."""
        return type(self).check is not Suite.check

    @property
    def can_generate(self) -> bool:
        """Whether it draws data, by ``generate``."""
        return type(self).generate is not Suite.generate

    # --- asking -------------------------------------------------------------------------------

    def prompt(self, name: str) -> SuitePrompt:
        """The words around samples that are no yes/no questions about atoms.

        Args:
            name: of the prompt that a method uses, such as ``ask`` or ``ask_cot``. Here ``ask`` is
                the sample alone, and there is no other.

        Raises:
            InputError: there is none, or its file cannot be used.
        """
        if name == 'ask':
            return SuitePrompt()
        raise InputError(f'suite {self.name} has no prompt {name}; choose method ask, or add a '
                         f'method prompt(name) to {type(self).__name__}')

    def place_words(self, folder: Path, splits: Sequence[str], options: Mapping[str, Any],
                    ) -> PlaceWords:
        """Read the words that ask for places from a folder of prompts (``--prompts``).

        Args:
            folder: such as a clone of a paper's repository; it exists.
            splits: whose samples ask for places.
            options: of the suite's samples in the run.

        Raises:
            InputError: the words of a split are missing, ambiguous or cannot be used; or the
                suite, as here, reads none.
        """
        raise InputError(f'prompts: the method asks no model with prompts of suite {self.name} '
                         '(leave them out)')

    @property
    def reads_place_words(self) -> bool:
        """Whether it reads the words that ask for places from a folder."""
        return type(self).place_words is not Suite.place_words

    # --- reading ------------------------------------------------------------------------------

    def read(self, text: str, sample: Sample) -> Any:
        """The answer that a reply gives, as plain JSON data.

        Here it is True or False for a yes/no question in words, else the reply itself.

        Args:
            text: the reply, without what a model thinks before it answers.
            sample: that it is a reply to.

        Raises:
            Unread: the reply cannot be read; the message says why.
        """
        if sample.question is not None and sample.question.in_words:
            return read_yes_no(text)
        if not text.strip():
            raise Unread('empty reply')
        return text.strip()

    def write(self, truth: Any, sample: Sample) -> str:
        """Return the true reply; by default Yes or No, a text as it is, or JSON."""
        if isinstance(truth, bool):
            return 'Yes' if truth else 'No'
        return truth if isinstance(truth, str) else json.dumps(truth)

    def guess(self, sample: Sample, rng: random.Random) -> str:
        """Return a random valid reply, each with the same probability; by default yes or no.

        Raises:
            InputError: the suite cannot guess.
        """
        if sample.question is None:
            raise InputError(f'suite {self.name}: method random needs a function '
                             f'guess(sample, rng), which gives a valid reply; add it to '
                             f'{self.folder}')
        return 'Yes' if rng.random() < 0.5 else 'No'

    def compose(self, sample: Sample, data: SampleData) -> Any:
        """The answer that follows from a reply that is data, as plain JSON data like ``read``'s.

        Here it is True or False for a yes/no question.

        Args:
            sample: that was asked.
            data: answers to its ``questions``, replies to its ``choices``, or the steps of a
                plan, as its samples have them; of a yes/no question the one answer.

        Raises:
            Unread: there is no answer in it; the message says why.
        """
        if sample.question is not None:
            return says_yes(data)
        raise InputError(f'suite {self.name} takes no replies as data; add a function '
                         f'compose(sample, data) to {self.folder}')

    # --- scoring ------------------------------------------------------------------------------

    def truth_regions(self, truth: Any) -> Sequence[Region]:
        """Return the regions of the true answer in the picture, which ``page`` marks there.

        An area is given by its outline, as a closed trace. The default is no region.
        """
        return ()

    def page(self, sample: Sample, answer: Any, truth: Any, scored: Scored) -> SamplePage:
        """Return what people are shown of a sample: by the report, failures and explanations.

        Here the sample's pictures and texts, truth and answer in words; of a sample that asks for
        a place, ``truth_regions`` and the answer's regions are marked in the picture.

        Args:
            sample: the sample, with its pictures.
            answer: the result of ``read``; None: the reply could not be read.
            truth: the truth about the sample.
            scored: the answer's score.

        Raises:
            InputError: a picture cannot be loaded.
        """
        marks: tuple[tuple[str, tuple[Region, ...]], ...] = ()
        if sample.target is not None:
            marks = (('truth', tuple(self.truth_regions(truth))),
                     ('answer', tuple(map(Region.from_json, answer or ()))))
        asked = [part for part in sample.parts if isinstance(part, str)]
        return SamplePage(
            shown_pictures(sample), '\n'.join(asked), Suite.write(self, truth, sample),
            '' if answer is None else Suite.write(self, answer, sample), marks=marks)

    def measures(self, kind: str) -> tuple[Measure, ...]:
        """Return the measures of the suite's episodes or samples, exactly one of them primary.

        Args:
            kind: ``episodes`` or ``samples``.
        """
        if kind == EPISODES:
            return EPISODE_MEASURES
        return (Measure('correct', 'fraction of answers that are the truth', primary=True),)

    def score(self, sample: Sample, answer: Any, truth: Any, reply: SampleReply) -> Scored:
        """Score an answer; by default ``correct`` is 1 if it equals the truth, else 0.

        Args:
            sample: the sample that was asked.
            answer: the result of ``read``; None: the reply could not be read.
            truth: the truth about the sample.
            reply: the reply, with probabilities if there are any.
        """
        right = answer is not None and answer == truth
        return Scored({'correct': float(right)},
                      None if right else 'unread' if answer is None else 'wrong')

    def episode_measures(self, line: Mapping[str, Any], solved: bool | None,
                         ) -> Mapping[str, float | None]:
        """Measures of an episode.

        Args:
            line: its line of results, without measures.
            solved: whether it is solved; None: it is not scored.
        """
        return episode_measures(line, solved)

    @property
    def keeps_details(self) -> bool:
        """Whether ``episode_details`` keeps anything; else no true states are asked for it."""
        return type(self).episode_details is not Suite.episode_details

    def episode_details(self, problem: Problem, states: Sequence[State],
                        line: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return details of an episode's course as plain JSON data; see ``EpisodeScorer``."""
        return {}

    def summarise(self, lines: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return further content of a run's summary, besides its measures, as plain JSON data."""
        return {}

    # --- reporting ----------------------------------------------------------------------------

    def tables(self, runs: Iterable[Any]) -> Iterable[Any]:
        """Return the suite's tables about its runs in a report (``report.tables.Table``)."""
        return ()

    def figures(self, runs: Iterable[Any]) -> Iterable[Any]:
        """Return the suite's figures about its runs in a report (``report.figures.Figure``)."""
        return ()

    # --- what follows from the above; nobody overrides it -------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the suite's items: ``episodes``, ``samples``, or both in this order."""
        return (*((EPISODES,) if self.domains else ()), *((SAMPLES,) if self.splits else ()))

    @property
    def kind(self) -> str:
        """``episodes``, ``samples`` or ``both``."""
        return BOTH if len(self.kinds) > 1 else self.kinds[0]

    def kind_of(self, split: str) -> str:
        """Whether the items of a split are ``episodes`` or ``samples``.

        Args:
            split: one of it, ``all`` or ``samples``. Where the suite has both kinds, all else
                than its splits of samples and ``samples`` is about episodes.
        """
        if self.kind == BOTH:
            return SAMPLES if split in (*self.splits, ALL_SAMPLES) else EPISODES
        return self.kind

    def rules(self, domain: str) -> DomainRules:
        """Rules for a domain.

        Raises:
            InputError: the suite has no such domain.
        """
        if domain not in self.domains:
            raise InputError(f'suite {self.name} has no domain {domain!r} (it has '
                             f'{", ".join(self.domains) or "none"})')
        return self.domains[domain]

    def split_rules(self, domain: str, split: str) -> DomainRules:
        """Return the rules for a domain, after a check that ``split`` is a split of them.

        Raises:
            InputError: the suite has no such domain or split.
        """
        rules = self.rules(domain)
        if split not in rules.splits:
            raise InputError(f'suite {self.name} has no split {split!r} of {domain} (it has '
                             f'{", ".join(rules.splits)})')
        return rules

    def budget(self, domain: str, method: str, split: str) -> int:
        """Return the budget of actions per episode of a method on a split.

        Raises:
            InputError: the suite has no such domain or split.
        """
        rules = self.split_rules(domain, split)
        rule = rules.rule(method)
        own: int | dict[str, int] = {} if rule is None else rule.max_actions
        if isinstance(own, int):
            return own
        counts = rules.max_actions
        return own.get(split) or (counts if isinstance(counts, int) else counts[split])

    def stops_at_goal(self, domain: str, method: str) -> bool:
        """Whether the suite ends an episode of a method at the goal.

        Raises:
            InputError: the suite has no such domain.
        """
        rules = self.rules(domain)
        rule = rules.rule(method)
        return rules.stop_at_goal or (rule is not None and rule.stop_at_goal)

    def privileged(self, domain: str, split: str) -> Privileged:
        """Return when the suite grants facts about what is out of view.

        Raises:
            InputError: the suite has no such domain or split.
        """
        granted = self.split_rules(domain, split).privileged
        return granted if isinstance(granted, Privileged) else granted[split]

    def pictures_goal(self, domain: str, split: str) -> bool:
        """Whether the suite shows the goal as a picture.

        Raises:
            InputError: the suite has no such domain or split.
        """
        goal = self.split_rules(domain, split).goal
        return (goal if isinstance(goal, str) else goal[split]) == 'pictured'

    def protocol_settings(self, protocol: str, domain: str, method: str, split: str,
                          replies: bool = True,
                          option: Callable[[str], Any] = lambda name: None,
                          ) -> dict[str, tuple[Any, str]]:
        """Return what a protocol sets in a run, by dotted name, each with the place that says so.

        Args:
            protocol: its name; ``ours`` sets nothing.
            domain: of the run's episodes; '' for samples.
            method: of the run.
            split: one of the run's splits; '' for problems of one's own.
            replies: whether settings about prompts and replies are wanted, too.
            option: returns an option of the run by its dotted name, None where there is none;
                see ``ProtocolEntry.meets``.

        Raises:
            InputError: the suite has no such protocol.
        """
        if protocol == OURS:
            return {}
        if protocol not in self.protocols:
            known = (OURS, *self.protocols)
            raise InputError(f'suite {self.name} has no protocol {protocol!r} (it has '
                             f'{", ".join(known)}{did_you_mean(protocol, known)})')
        return {name: (value, f'{self.rules_file}: protocols.{protocol}.{number}.settings.{name}')
                for number, entry in enumerate(self.protocols[protocol])
                if entry.covers(domain, method, split) and (replies or not entry.replies)
                and entry.meets(option)
                for name, value in entry.settings.items()}

    def primary(self, kind: str) -> Measure:
        """The measure that its episodes or samples are compared by."""
        return next(measure for measure in self.measures(kind) if measure.primary)

    def published_splits(self, domain: str) -> frozenset[str]:
        """Return the splits of a domain that the paper has numbers for; none of other domains."""
        return (self.published.splits(domain).intersection(self.domains[domain].splits)
                if domain in self.domains else frozenset())
