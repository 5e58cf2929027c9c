"""What the bags of a run tell alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sightplan.model import Asked, Observed, Proposed
from sightplan.records import RunStore
from sightplan.records.recorded import read_episodes
from sightplan.replay.rescored import NOT_COMPARED, differences, rescore
from sightplan.runs import suite_of_run, summarise


def check_recorded(out: Path, lines: Sequence[dict[str, Any]]) -> None:
    """A run's bags hold every event and every picture, and give all its results again."""
    scores, suite = [], suite_of_run(RunStore(out).run_info())
    for line in lines:
        episode, = read_episodes(out / line['bag'])
        assert episode.warnings == ()
        assert episode.spec.id == line['id']
        for event in episode.events:
            if isinstance(event, (Observed, Asked, Proposed)) and line['images']:
                assert episode.image(event.observation) is not None
        again = rescore(episode, suite)
        assert differences(line, again) == []
        scores.append(again)
        assert {key: value for key, value in again.items() if key != 'failure'} == {
            key: value for key, value in line.items()
            if key != 'failure' and key not in NOT_COMPARED}
    assert summarise(scores, suite) == summarise(lines, suite)
