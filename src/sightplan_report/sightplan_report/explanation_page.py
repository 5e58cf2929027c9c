"""An explained episode as a page: HTML, self-contained."""

from __future__ import annotations

from PIL import Image

from sightplan.records.recorded import RecordedEpisode
from sightplan_report.deciding_answers import candidates
from sightplan_report.episode_page import Picture, small_picture
from sightplan_report.explanation import Explanation, StepExplained
from sightplan_report.html import render

_FOLD = 8
_LEAST_PIXELS = 8


def page(explained: Explanation, recorded: RecordedEpisode | None = None) -> str:
    """Make the HTML page of an explanation.

    Args:
        explained: the episode.
        recorded: what its bag tells, for pictures; None: there are none.
    """
    pictures: dict[str, Picture] = {}
    steps = []
    for number, step in enumerate(explained.steps):
        shown = []
        for key in step.pictures:
            if key in pictures:
                shown.append(Picture('', key, pictures[key].note))
                continue
            made = _picture(explained, recorded, key, number)
            if made is not None:
                pictures[key] = Picture('', key, f'the same picture as {_where(step)}')
                shown.append(made)
        steps.append((step, shown, _open_rows(step)))
    return render('explanation.html.jinja', title=f'Explained: {explained.id}', e=explained,
                  steps=steps)


def _where(step: StepExplained) -> str:
    return 'at the end' if step.number is None else f'at step {step.number}'


def _picture(explained: Explanation, recorded: RecordedEpisode | None, key: str, number: int,
             ) -> Picture | None:
    seen = explained.seen.get(key)
    image = recorded.image(seen) if recorded is not None and seen is not None else None
    if image is None or seen is None or min(image.shape[:2]) <= _LEAST_PIXELS:
        return None
    when = 'the picture of the goal' if seen.shows_goal else f'{seen.stamp_ns / 1e9:.2f} s'
    return small_picture(Image.fromarray(image), key, when)


def _open_rows(step: StepExplained) -> set[tuple[int, int]]:
    """Questions that are not folded: all if they are few, else the most important ones."""
    total = sum(len(batch.rows) for batch in step.batches)
    if total <= _FOLD:
        return {(batch.number, row.place) for batch in step.batches for row in batch.rows}
    found = {(batch.number, row.place) for batch, row in candidates(step)[:_FOLD]}
    if step.deciding.batch is not None and step.deciding.place is not None:
        found.add((step.deciding.batch, step.deciding.place))
    return found
