"""Targets that are not on a table."""

from __future__ import annotations

from random import Random

import pytest

from sightplan_sim.tabletop.absences import LOOKALIKES, STRANGERS, Absences, absent_targets
from sightplan_sim.tabletop.catalogue import CATEGORIES, colours_of
from sightplan_sim.tabletop.draw import COLOURS
from sightplan_sim.tabletop.source import table_of

NAMES = sorted(CATEGORIES, key=len, reverse=True)


def meant(text):
    """Category and colour that a text names; '' for none."""
    return (next((name for name in NAMES if name in text), ''),
            next((colour for colour in COLOURS if f' {colour}' in text), ''))


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('held_out', ['held_out', 'training'])
def test_what_is_named_is_not_on_the_table(held_out, seed):
    table = table_of(f'tabletop/{held_out}/{seed}')
    here = {(one.thing.category, one.thing.colour) for one in table.things}
    kinds, colours = ({pair[k] for pair in here} for k in (0, 1))
    families = {CATEGORIES[kind].family for kind in kinds}
    found = absent_targets(table, Random(seed))
    assert found == absent_targets(table, Random(seed))
    assert len({one.kind for one in found}) == len(found) >= 4
    for one in found:
        if one.kind == 'unknown':
            assert any(word in one.text for word in STRANGERS)
            continue
        kind, colour = meant(one.text)
        assert kind and (kind, colour) not in here
        assert (kind in kinds) is (one.kind in ('colour', 'swapped'))
        assert (CATEGORIES[kind].family in families) is (one.kind in LOOKALIKES)
        if one.kind in ('colour', 'swapped'):
            assert (colour in colours) is (one.kind == 'swapped')
        if held_out == 'training' and colour:
            assert colour in colours_of(kind, False)


@pytest.mark.parametrize('seed', range(4))
def test_places_are_told_truly_or_falsely(seed):
    absences = Absences(table_of(f'tabletop/training/{seed}'), Random(seed))
    text, name = absences.true_place()
    assert name and name.rpartition(' ')[0] in text
    wrong = absences.target('relation')
    assert wrong is not None and wrong.text != text
