"""A reply to a yes/no question, and back."""

from __future__ import annotations

from sightplan.grounding import parse_yes_no
from sightplan.model import Verdict
from sightplan.model.sample import Sample
from sightplan.runs.suite import Unread


def read(text: str, item: Sample) -> str:
    """``yes`` or ``no``.

    Raises:
        Unread: the reply is not clearly one of both.
    """
    verdict = parse_yes_no(text)
    if verdict.says is None:
        raise Unread('cannot tell' if verdict is Verdict.UNKNOWN
                     else 'neither yes nor no' if text.strip() else 'empty reply')
    return verdict.value


def write(truth: bool, item: Sample) -> str:
    """The reply that says what is true."""
    return 'Yes' if truth else 'No'
