"""A reply to a yes/no question."""

from __future__ import annotations

from sightplan.model.sample import Sample, SampleData
from sightplan.runs.suite_parts import read_yes_no, says_yes


def read(text: str, item: Sample) -> str:
    """Read ``yes`` or ``no`` from a reply.

    Raises:
        Unread: the reply is not clearly one of both.
    """
    return 'yes' if read_yes_no(text) else 'no'


def compose(item: Sample, data: SampleData) -> str:
    """Read ``yes`` or ``no`` from the verdict of an answer without text.

    Raises:
        Unread: the verdict is neither.
    """
    return 'yes' if says_yes(data) else 'no'
