"""Recorded episodes without bags: made from the events of runs in this process."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from doubles import (
    TWO_BLOCKS,
    GuessingGrounder,
    MemoryWorld,
    SearchPlanner,
    facts_of,
    pantry,
    pantry_view,
    spec_of,
)
from sightplan.agent import make_policy, run_episode
from sightplan.model import (
    Asked,
    EpisodeEnded,
    EpisodeStarted,
    Observation,
    Observed,
    Privileged,
    Proposed,
)
from sightplan.records.recorded import RecordedEpisode
from sightplan.records.truth import NotedTruth, RecordedTruth
from sightplan.replay.batches import Source
from sightplan.runs import RunSettings, run

THREE_BLOCKS = """
(define (problem three)
  (:domain blocksworld)
  (:objects r g b - block c1 c2 c3 - column)
  (:init (on r g) (incolumn r c1) (incolumn g c1) (incolumn b c2) (clear r) (clear b)
         (leftof c1 c2) (leftof c2 c3) (rightof c2 c1) (rightof c3 c2))
  (:goal (and (on g b) (on r g) (incolumn b c2) (incolumn g c2) (incolumn r c2) (clear r))))
"""
"""The red block on the green one; wanted: a tower of three."""


@dataclasses.dataclass(frozen=True, eq=False)
class EpisodeDouble(RecordedEpisode):
    """An episode whose pictures are at hand."""

    images: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def image(self, observation):
        return self.images.get(observation.image_id)

    def with_image(self, observation):
        image = self.image(observation)
        return observation if image is None else dataclasses.replace(
            observation, image=image, _digest=[])


class Keeper:
    """A Recorder that makes recorded episodes of what it is told."""

    def __init__(self, world):
        self._world, self._domain = world, world.domain
        self.episodes = []

    def record(self, event):
        if isinstance(event, EpisodeStarted):
            self._spec, self._events, self._images, self._told = event.spec, [], {}, []
            self._truth = NotedTruth(self._world, self._told.append)
        if isinstance(event, (Observed, Asked, Proposed)):
            seen = event.observation
            if seen.image_id not in self._images:
                self._images[seen.image_id] = seen.image
            self._truth.state(seen.stamp_ns)
            event = dataclasses.replace(event, observation=dataclasses.replace(
                seen, image=None, _digest=[seen.image_id]))
        self._events.append(event)
        if isinstance(event, EpisodeEnded):
            self._truth.state(event.stamp_ns)
            self.episodes.append(EpisodeDouble(
                Path('bags') / self._spec.problem.name, self._spec,
                self._domain, tuple(self._events),
                RecordedTruth(self._told), images=self._images))


def recorded_run(folder: Path, problems: int = 3, **values) -> list[Source]:
    """Run in this process, and give back what a recorder would have kept."""
    there = folder / 'problems'
    if not there.exists():
        there.mkdir(parents=True)
        for number in range(problems):
            text = TWO_BLOCKS if number % 2 == 0 else THREE_BLOCKS
            (there / f'p{number}.pddl').write_text(text)
    world = MemoryWorld()
    keeper = Keeper(world)
    run(RunSettings(**{'problems': str(there), 'method': 'ground', 'backend': 'noisy_oracle',
                       'out': str(folder / 'run'), **values}),
        world=world, planner=SearchPlanner(), recorders=[keeper])
    return [Source(f'run/bags/{e.spec.problem.name}', e) for e in keeper.episodes]


def hidden_run(method: str, level: Privileged, error: float = 0.0) -> list[Source]:
    """Episodes in a domain where things are hidden in others, with a model that errs."""
    domain = pantry()
    sources = []
    for problem in domain.split_problems('small'):
        world = MemoryWorld(domain, pantry_view)
        keeper = Keeper(world)
        spec = spec_of(problem, method=method, privileged=level, max_actions=12)
        run_episode(spec, make_policy(method), world, GuessingGrounder(world, error=error, seed=1),
                    SearchPlanner(domain), keeper, domain, privileged=facts_of(world, spec))
        sources.append(Source(f'bags/{problem.name}', keeper.episodes[0]))
    return sources


def without_truth(source: Source) -> Source:
    """The same episode as a real robot would have recorded it."""
    return Source(source.name, dataclasses.replace(source.episode, truth=None))


def looks(source: Source) -> list[Observation]:
    """The looks of an episode."""
    return [event.observation for event in source.episode.events if isinstance(event, Observed)]
