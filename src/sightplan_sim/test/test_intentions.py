"""The catalogue of intentions: enough kinds and wordings, most of which name no thing."""

from __future__ import annotations

import re

import pytest

from sightplan_sim.tabletop.catalogue import CATEGORIES, FURNITURE
from sightplan_sim.tabletop.intentions import intentions, names_place

NOUNS = [*CATEGORIES, *FURNITURE, 'drawer', 'knive']


def names_thing(wording: str) -> bool:
    """Whether a wording names a thing or place of the tables."""
    return names_place(wording) or any(
        re.search(rf'\b{noun}(s|es)?\b', wording.lower()) for noun in NOUNS
    )


@pytest.mark.parametrize('held_out', [False, True])
def test_there_are_many_intentions_and_most_wordings_name_no_thing(held_out):
    found = intentions()
    wordings = [text for name in found.kinds for text in found.wordings(name, held_out)]
    assert len(found.kinds) >= 40 and len(set(wordings)) == len(wordings) >= 120
    assert sum(map(names_thing, wordings)) < len(wordings) / 2
    assert all(len(found.wordings(name, held_out)) >= 2 for name in found.kinds)


def test_no_wording_is_in_both_sets():
    found = intentions()
    tuning, held_out = (
        {text for name in found.kinds for text in found.wordings(name, which)}
        for which in (False, True)
    )
    assert not tuning & held_out


def test_what_is_doubtful_does_not_clearly_serve():
    for name, use in intentions().uses.items():
        assert not set(use.things) & set(use.doubtful), name
        kinds = {*use.things, *(one.split()[-1] for one in use.doubtful)}
        assert kinds <= {*CATEGORIES, *FURNITURE}, name
