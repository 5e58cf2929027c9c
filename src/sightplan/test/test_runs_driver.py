"""The one walk over a run, and what is left when it is broken off."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import CancelledError, InfrastructureError, SpendingCapError
from sightplan.runs.driver import Walked, walk


@dataclass(frozen=True)
class Thing:
    id: str
    cluster: str = 'c'
    split: str = 's'


ITEMS = [Thing(f'e{number}') for number in range(6)]


def lines(batch, cancelled=lambda: False):
    return [{'id': item.id} for item in batch]


def test_what_is_missing_is_made_in_order_and_committed_before_it_is_told():
    events = []
    walked = walk(ITEMS, {'e1', 'e4'}, lines, lambda line: events.append(('on disk', line['id'])),
                  began=lambda item: events.append(('began', item)),
                  progress=lambda line: events.append(('told', line['id'])))
    assert walked == Walked(False, '')
    assert events == [(what, item) for item in ('e0', 'e2', 'e3', 'e5')
                      for what in ('began', 'on disk', 'told')]


def test_batches_are_cut_from_what_is_missing_alone():
    made = []

    def make(batch, cancelled):
        made.append([item.id for item in batch])
        return lines(batch)
    done = []
    walk(ITEMS, {'e0'}, make, done.append,
         batches=lambda missing: [missing[i:i + 2] for i in range(0, len(missing), 2)])
    assert made == [['e1', 'e2'], ['e3', 'e4'], ['e5']] and len(done) == 5


def test_it_ends_before_the_next_batch_once_cancelled():
    done = []
    walked = walk(ITEMS, set(), lines, done.append, cancelled=lambda: len(done) == 2)
    assert walked == Walked(True, '') and [line['id'] for line in done] == ['e0', 'e1']


def test_what_was_broken_off_is_not_committed_and_it_is_told_who_did_it():
    def make(batch, cancelled):
        if batch[0].id == 'e2':
            raise SpendingCapError('the cap is reached; raise it')
        return lines(batch)
    done = []
    assert walk(ITEMS, set(), make, done.append) == Walked(True, 'the cap is reached; raise it')
    assert [line['id'] for line in done] == ['e0', 'e1']
    asked = []

    def by_a_person(batch, cancelled):
        asked.append(True)
        raise CancelledError('cancelled')
    assert walk(ITEMS, set(), by_a_person, done.append, cancelled=lambda: bool(asked)) == (
        Walked(True, ''))


def test_an_item_whose_error_has_a_line_does_not_end_the_walk():
    done = []
    assert walk(ITEMS, set(), lambda batch, _: [{'id': batch[0].id, 'error': 'stuck'}],
                done.append) == Walked()
    assert len(done) == 6


def test_what_keeps_all_others_from_being_made_comes_through():
    def make(batch, cancelled):
        raise InfrastructureError('no disk')
    with pytest.raises(InfrastructureError, match='no disk'):
        walk(ITEMS, set(), make, lambda line: None)


@given(st.lists(st.integers(0, 6), max_size=8))
def test_however_often_it_is_broken_off_each_item_is_committed_once_and_in_order(stops):
    """After each start (how many items it makes) what is committed is a prefix of the items."""
    done: list[str] = []
    for number in (*stops, len(ITEMS)):
        end = len(done) + number

        def make(batch, cancelled, end=end):
            if len(done) == end:
                raise KeyboardInterrupt
            return lines(batch)
        try:
            walk(ITEMS, set(done), make, lambda line: done.append(line['id']))
        except KeyboardInterrupt:
            assert len(done) == end
        assert done == [item.id for item in ITEMS[:len(done)]]
    assert done == [item.id for item in ITEMS]
