"""Page for people about a question: its picture, the truth, and the answer with P(yes)."""

from __future__ import annotations

from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import SamplePage, Scored, shown_pictures

KEY = 'P(yes) is over yes and no together.'


def page(item: Sample, answer: str | None, truth: bool, scored: Scored) -> SamplePage:
    """Contract in ``runs.suite.Suite``."""
    asked = item.parts[-1] if isinstance(item.parts[-1], str) else ''
    chance = scored.measures.get('probability')
    likely = '' if chance is None else f', P(yes) {chance:.2f}'
    return SamplePage(
        shown_pictures(item), f'{asked} ({item.details["atom"]})', 'yes' if truth else 'no',
        f'{answer}{likely}' if answer is not None else '', KEY if likely else '')
