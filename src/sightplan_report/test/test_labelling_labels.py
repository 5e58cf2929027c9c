"""Labels by hand: their file, and what several people's labels say together."""

from __future__ import annotations

import datetime
import json
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import Atom, InfrastructureError, InputError
from sightplan.model.journal import parse
from sightplan.model.reading import validated
from sightplan_report.labelling import Label, LabelFile, LabelValue, read_labels

ON, CLEAR = Atom('on', ('r', 'g')), Atom('clear', ('r',))
YES, NO, UNCLEAR = LabelValue
NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
IMAGE = '0123456789abcdef'

WORDS = st.text(st.characters(exclude_categories=['C', 'Z'], include_characters=' '), max_size=20)
LABELS = st.builds(
    Label, image=WORDS.filter(bool), atom=st.sampled_from([ON, CLEAR, Atom('free')]),
    label=st.sampled_from([*LabelValue, None]), who=WORDS,
    time=st.none() | st.integers(0, 10**12).map(
        lambda ms: datetime.datetime.fromtimestamp(0, datetime.UTC)
        + datetime.timedelta(milliseconds=ms)),
    question=WORDS, bag=WORDS, episode=WORDS, stamp_ns=st.integers(0, 2**63))


def label(value, who='', atom=ON, time=None):
    return Label(image=IMAGE, atom=atom, label=value, who=who, time=time)


def to_line(one):
    return json.dumps(one.to_json()) + '\n'


def parse_labels(data, name):
    content = parse(data, name)
    return [validated(Label, line.data, line.where) for line in content.lines], content.truncated


def written(path, *labels):
    path.write_text(''.join(to_line(one) for one in labels))
    return path


def test_a_file_by_hand_needs_three_fields(tmp_path):
    path = tmp_path / 'labels.jsonl'
    path.write_text('\ufeff{"image": "a", "atom": "ON r, g", "label": "Yes"}\r\n\n'
                    '{"image": "a", "atom": "clear r", "label": "no", "mood": "good"}')
    labels = read_labels(path)
    assert len(labels) == 2
    assert labels.images == {'a'}
    assert labels.people == ('',)
    assert labels.truth('a', ON) is True
    assert labels.truth('a', CLEAR) is False
    assert labels.truth('b', ON) is None
    assert labels.warnings == ()


@pytest.mark.parametrize(('line', 'words'), [
    ('{"atom": "on r,g", "label": "yes"}', 'image is missing'),
    ('{"image": 3, "atom": "on r,g", "label": "yes"}', 'image = 3: must be text'),
    ('{"image": "a", "label": "yes"}', 'atom is missing'),
    ('{"image": "a", "atom": "on(r, g", "label": "yes"}',
     "atom = 'on(r, g': is not an atom; write it as"),
    ('{"image": "a", "atom": "on r,g"}', 'label is missing'),
    ('{"image": "a", "atom": "on r,g", "label": true}', 'label = True: must be "yes"'),
    ('{"image": "a", "atom": "on r,g", "label": "maybe"}', "label = 'maybe': must be"),
    ('{"image": "a", "atom": "on r,g", "label": "yes", "who": "a\\nb"}', 'on one line'),
    ('{"image": "a", "atom": "on r,g", "label": "yes", "time": "noon"}', "time = 'noon': must be"),
    ('{"image": "a", "atom": "on r,g", "label": "yes", "stamp_ns": 1.5}', 'stamp_ns = 1.5'),
    ('["a", "on r,g", "yes"]', 'is not a JSON object; write one object a line'),
    ('a on r,g yes', 'is not JSON'),
    ('[' * 100_000, 'is not JSON'),
])
def test_malformed_lines_are_named(tmp_path, line, words):
    path = tmp_path / 'labels.jsonl'
    path.write_text(to_line(label(YES)) + line + '\n')
    with pytest.raises(InputError) as caught:
        read_labels(path)
    assert str(caught.value).startswith(f'{path}:2: ')
    assert words in str(caught.value)
    with pytest.raises(InputError):
        LabelFile(path)
    assert path.read_text().endswith(line + '\n')


def test_another_kind_of_file_is_left_alone(tmp_path):
    path = tmp_path / 'notes.txt'
    path.write_text('remember the milk')
    for reader in (read_labels, LabelFile):
        with pytest.raises(InputError, match=':1: is not JSON'):
            reader(path)
    assert path.read_text() == 'remember the milk'


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / 'none.jsonl', 'a\0b'):
        with pytest.raises(InputError, match='cannot be read|can be no such file'):
            read_labels(path)
    for path in (tmp_path, tmp_path / 'no/folder.jsonl', 'a\0b'):
        with pytest.raises(InputError, match='cannot be written|can be no such file'):
            LabelFile(path)


def test_the_last_label_of_a_person_counts(tmp_path):
    path = written(tmp_path / 'a', label(YES, 'ann', time=NOON), label(YES, 'bob'),
                   label(NO, 'ann', time=NOON - datetime.timedelta(hours=1)), label(None, 'bob'),
                   label(UNCLEAR, 'cyd', CLEAR))
    labels = read_labels(path)
    assert labels.of(IMAGE, ON) == {'ann': NO}  # in a file its order rules, not a clock
    assert labels.people == ('ann', 'cyd')
    assert len(labels) == 2


def test_among_files_the_later_time_counts_and_else_the_later_file(tmp_path):
    hour = datetime.timedelta(hours=1)
    new = written(tmp_path / 'new', label(None, 'ann', time=NOON), label(YES, 'bob', time=NOON))
    old = written(tmp_path / 'old', label(NO, 'ann', time=NOON - hour),
                  label(NO, 'bob', time=NOON - hour), label(NO, 'cyd', time=NOON))
    hand = written(tmp_path / 'hand', label(YES, 'cyd'))
    for order in ([new, old, hand], [old, new, hand]):
        assert read_labels(order).of(IMAGE, ON) == {'bob': YES, 'cyd': YES}
    assert read_labels([hand, old]).of(IMAGE, ON)['cyd'] is NO


def test_a_line_without_a_time_does_not_let_older_ones_win(tmp_path):
    hour = datetime.timedelta(hours=1)
    new = written(tmp_path / 'new', label(YES, 'ann', time=NOON))
    hand = written(tmp_path / 'hand', label(NO, 'ann'))
    old = written(tmp_path / 'old', label(UNCLEAR, 'ann', time=NOON - hour))
    both = written(tmp_path / 'both', label(YES, 'ann', time=NOON), label(NO, 'ann'))
    for order in ([new, hand, old], [new, old, hand], [old, new, hand], [both, old], [old, both]):
        assert read_labels(order).of(IMAGE, ON) == {'ann': NO}, order
    assert read_labels([hand, new, old]).of(IMAGE, ON) == {'ann': YES}


@pytest.mark.parametrize(('values', 'truth'), [
    ([YES], True), ([NO], False), ([UNCLEAR], None), ([], None), ([YES, NO], None),
    ([YES, YES, NO], True), ([NO, UNCLEAR], None), ([NO, NO, UNCLEAR], False),
    ([UNCLEAR, UNCLEAR, YES], None), ([YES, YES, NO, UNCLEAR], True),
    ([YES, YES, UNCLEAR, UNCLEAR, NO], None),
])
def test_the_truth_is_what_most_saw(tmp_path, values, truth):
    labels = read_labels(written(tmp_path / 'a', *(
        label(value, f'person {number}') for number, value in enumerate(values))))
    assert labels.truth(IMAGE, ON) is truth


def test_agreement_is_cohens_kappa(tmp_path):
    # Two by two: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no. By hand: p = .7, e = .5, kappa = .4.
    lines = []
    for number, (a, b) in enumerate([(YES, YES)] * 20 + [(YES, NO)] * 5 + [(NO, YES)] * 10
                                    + [(NO, NO)] * 15):
        atom = Atom('on', (f'x{number}', 'g'))
        lines += [label(a, 'ann', atom), label(b, 'bob', atom)]
    lines.append(label(YES, 'ann', CLEAR))
    lines.append(label(YES, 'cyd', CLEAR))
    first, second, third = read_labels(written(tmp_path / 'a', *lines)).agreement()
    assert (first.first, first.second, first.n, first.agreed) == ('ann', 'bob', 50, 35)
    assert first.kappa == pytest.approx(0.4)
    assert (second.second, second.n, second.agreed, second.kappa) == ('cyd', 1, 1, None)
    assert (third.first, third.n, third.kappa) == ('bob', 0, None)


def test_unclear_counts_in_the_agreement(tmp_path):
    lines = []
    for number, (a, b) in enumerate([(YES, YES), (NO, UNCLEAR)]):
        atom = Atom('on', (f'x{number}', 'g'))
        lines += [label(a, 'ann', atom), label(b, 'bob', atom)]
    (found,) = read_labels(written(tmp_path / 'a', *lines)).agreement()
    assert (found.n, found.agreed) == (2, 1)
    assert found.kappa == pytest.approx((0.5 - 0.25) / 0.75)


def test_summary_counts(tmp_path):
    labels = read_labels(written(tmp_path / 'a', label(YES, 'ann'), label(NO, 'bob'),
                                 label(UNCLEAR, 'ann', CLEAR)))
    summary = labels.summary()
    assert summary['labels'] == 3
    assert (summary['images'], summary['questions'], summary['decided']) == (1, 2, 0)
    assert summary['predicates'] == {'clear': {'yes': 0, 'no': 0, 'unclear': 1},
                                     'on': {'yes': 1, 'no': 1, 'unclear': 0}}
    assert summary['people']['ann'] == {'yes': 1, 'no': 0, 'unclear': 1}
    assert summary['agreement'] == [
        {'first': 'ann', 'second': 'bob', 'n': 1, 'agreed': 0, 'kappa': 0.0}]


@given(st.lists(LABELS, max_size=8))
def test_lines_round_trip(labels):
    data = ''.join(to_line(one) for one in labels).encode()
    assert data.isascii()
    assert parse_labels(data, 'a') == (labels, b'')


@settings(max_examples=30, deadline=None)
@given(labels=st.lists(LABELS, min_size=1, max_size=4), data=st.data())
def test_a_file_truncated_anywhere_is_read_up_to_there_and_goes_on(tmp_path_factory, labels, data):
    path = tmp_path_factory.mktemp('truncated') / 'labels.jsonl'
    with_ends = [to_line(one).encode() for one in labels]
    whole = b''.join(with_ends)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    # A line without its end is whole if only its line feed is missing.
    complete = sum(len(b''.join(with_ends[:n])) - 1 <= cut for n in range(1, len(labels) + 1))
    kept, truncated = parse_labels(path.read_bytes(), 'a')
    assert kept == labels[:complete]
    assert bool(read_labels(path).warnings) is bool(truncated)
    file = LabelFile(path)
    assert bool(file.warnings) is bool(truncated)
    file.append(lambda _: labels)
    file.close()
    assert parse_labels(path.read_bytes(), 'a') == ([*labels[:complete], *labels], b'')


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(
    'utf-8', 'surrogatepass')))
def test_no_bytes_break_the_reader(data):
    try:
        labels, truncated = parse_labels(data, 'a')
    except InputError:
        return
    assert data.endswith(truncated)
    assert all(isinstance(one, Label) for one in labels)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=3), max_leaves=4)
FIELDS = {'image': st.just('a') | JSON, 'atom': st.just('on r,g') | JSON,
          'label': st.just('yes') | JSON, 'who': st.text(max_size=3) | JSON,
          'time': st.sampled_from(['2026-03-01', '0001-01-01T00:00:00+14:00']) | JSON,
          'stamp_ns': JSON}


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_no_object_breaks_the_reader(entry):
    try:
        (read,), truncated = parse_labels(json.dumps(entry).encode() + b'\n', 'a')
    except InputError:
        return
    assert not truncated
    assert parse_labels(to_line(read).encode(), 'a') == ([read], b'')


def test_two_open_files_append_to_one(tmp_path):
    path = tmp_path / 'labels.jsonl'
    files = [LabelFile(path), LabelFile(path)]

    def work(number):
        for count in range(25):
            one = label(YES, f'person {number}', Atom('on', (f'x{count}', 'g')))
            files[number].append(lambda _, one=one: [one])
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for file in files:
        file.close()
    assert len(read_labels(path)) == 50


def test_a_line_added_by_hand_meanwhile_is_kept(tmp_path):
    path = tmp_path / 'labels.jsonl'
    file = LabelFile(path)
    with path.open('a') as other:
        other.write('{"image": "a", "atom": "on r,g", "label": "yes", "who": "ann"}')
    file.append(lambda _: [label(NO, 'bob')])
    file.close()
    assert read_labels(path).people == ('ann', 'bob')


def test_what_others_added_is_told_before_a_label_is_written(tmp_path):
    path = tmp_path / 'labels.jsonl'
    first, second = LabelFile(path), LabelFile(path)
    first.append(lambda _: [label(YES, 'ann')])
    told = []

    def decide(others):
        told.append([(other.who, other.value) for other in others])
        return [label(NO, 'ann')] if len(told) == 1 else []
    second.append(decide)
    second.append(decide)
    with path.open('a') as by_hand:
        by_hand.write(to_line(label(UNCLEAR, 'cyd')).rstrip('\n'))
    second.append(decide)
    first.append(decide)
    assert told == [[('ann', YES)], [], [('cyd', UNCLEAR)], [('ann', NO), ('cyd', UNCLEAR)]]
    path.write_text('')  # shorter than what was read of it
    first.append(lambda _: [label(YES, 'bob')])
    second.append(decide)
    assert told[-1] == [('bob', YES)]
    first.close()
    second.close()


@pytest.mark.parametrize(('act', 'words'), [
    (os.remove, 'was deleted'), (lambda path: os.replace(written(path.with_name('b')), path),
                                 'another file took its place')])
def test_labels_are_not_written_into_the_void(tmp_path, act, words):
    path = tmp_path / 'labels.jsonl'
    file = LabelFile(path)
    act(path)
    with pytest.raises(InfrastructureError, match=words):
        file.append(lambda _: [label(NO)])
    file.close()


def test_a_label_that_could_not_be_synced_is_not_left_behind(tmp_path, monkeypatch):
    path = tmp_path / 'labels.jsonl'
    file = LabelFile(path)
    file.append(lambda _: [label(YES)])

    def fail(number):
        raise OSError(28, 'No space left on device')
    monkeypatch.setattr(os, 'fsync', fail)
    with pytest.raises(InfrastructureError, match='No space left'):
        file.append(lambda _: [label(NO)])
    file.close()
    assert read_labels(path).truth(IMAGE, ON) is True
