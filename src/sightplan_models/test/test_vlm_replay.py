"""Recording of requests and replies, and the backend ``replay``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan.metrics import measures
from sightplan.model import (
    BARE,
    Atom,
    BackendError,
    DeadlineError,
    Form,
    GroundingPrompt,
    InfrastructureError,
    InputError,
    Observation,
    Question,
    Region,
    SightplanError,
    SpendingCapError,
    Target,
    Usage,
    param,
)
from sightplan.model.dataclass_json import picture_id
from sightplan.model.query import (
    Deadline,
    ModelByKind,
    Traits,
    answers,
    ask_all,
    ask_one,
    can_ask,
    part_name,
    traits_of,
)
from sightplan.queries import (
    Answer,
    Check,
    ChoiceReply,
    Generate,
    TextReply,
    YesNo,
    yes_no_queries,
)
from sightplan.queries.choose import Choose
from sightplan.queries.detect import Detect, Detection, DetectReply
from sightplan.queries.locate import Locate, LocateReply
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan.vlm import recording
from sightplan.vlm.api import backend_class, make_backend
from sightplan.vlm.wrapping import Prompted, Router
from sightplan_suites.paths.wishes import WishSettings, understand


def image(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)


def ask(*texts: str, seed: int | None = 0, prompt: GroundingPrompt = BARE) -> list[YesNo]:
    seen = Observation(None if seed is None else image(seed))
    return yes_no_queries(seen, tuple(Question(Atom('p'), text) for text in texts), prompt)


class Counting(ModelByKind):
    """A model whose every reply is another one, and costs another sum."""

    traits = Traits(capped=True)
    name = 'counting@1'

    def __init__(self) -> None:
        self.calls = 0
        self.usage: Usage | None = Usage(cost_usd=0.0)
        self.closed = 0
        self.carried: Usage | None = None

    def _spend(self, number: int) -> None:
        assert self.usage is not None
        self.usage += Usage(number, 100 * number, number, 0.1 * self.calls)

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        replies = []
        for _ in request:
            self.calls += 1
            replies.append(Answer(f'Yes {self.calls}', 1 / (self.calls + 2), None))
        self._spend(len(replies))
        return replies

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        self.calls += 1
        self._spend(1)
        return TextReply(f'text {self.calls} \ud800', self.calls % 2 == 0)

    def close(self) -> None:
        self.closed += 1

    def carry_over(self, spent: Usage) -> None:
        self.carried = spent


def replay(path: Path) -> Any:
    return make_backend('replay', {'path': str(path)})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_replies_come_back_in_order_with_what_they_cost(tmp_path: Path) -> None:
    path = tmp_path / 'deep' / 'replies.jsonl'
    backend = recording.Recorded(Counting(), path, name='counting')
    text = Generate('system', ('look', image(3), 'at this'), 77)
    requests = [ask('a?', 'b?'), text, ask('a?'), ask('a?', seed=1), text]
    said, spent = [], []

    def step(model: Any, request: Any) -> None:
        before = model.usage
        said.append(ask_all(model, request) if isinstance(request, list)
                    else ask_one(model, request))
        spent.append(model.usage - before)

    backend.start_episode('e', 'simple')
    for request in requests:
        step(backend, request)
    backend.close()
    again = replay(path)
    again.start_episode('e', 'simple')
    for request in requests:
        step(again, request)
    assert said[:5] == said[5:] and spent[:5] == spent[5:]
    assert len({str(reply) for reply in said[:5]}) == 5
    assert again.name == 'counting@1'
    again.start_episode('e', 'simple')
    assert ask_all(again, ask('a?')) == said[0][:1], 'an episode that begins again'
    assert [line['kind'] for line in lines(path)] == [
        'recording', 'episode', 'shared', *['reply'] * 6]
    assert [line.get('query') for line in lines(path)][3:] == [
        'yes_no', 'yes_no', 'text', 'yes_no', 'yes_no', 'text']


def test_the_wrapper_is_the_backend_it_wraps(tmp_path: Path) -> None:
    inner = Counting()
    backend = recording.Recorded(inner, tmp_path / 'r.jsonl')
    assert (backend.accepts, backend.traits) == (inner.accepts, inner.traits)
    assert backend.name == inner.name and backend.usage == inner.usage
    backend.carry_over(Usage(3))
    backend.close()
    assert inner.carried == Usage(3) and inner.closed == 1
    with pytest.raises(InfrastructureError, match='closed'):
        ask_all(backend, ask('a?'))


def test_replay_is_chosen_by_name_and_needs_neither_pictures_nor_model() -> None:
    assert can_ask(backend_class('replay'), Generate)
    assert not traits_of(backend_class('replay')).pixels


@pytest.mark.parametrize('other', [
    ask('b?'), ask('a?', seed=1), ask('a?', seed=None),
    ask('a?', prompt=GroundingPrompt(system='s')), ask('a?', prompt=GroundingPrompt(max_tokens=9)),
    ask('a?', prompt=GroundingPrompt(after_image='m')),
    ask('a?', prompt=GroundingPrompt(reasoning=True)),
    ask('a?', prompt=GroundingPrompt(question='{question} Be brief.'))])
def test_whatever_the_model_is_shown_changes_the_key(other: list[YesNo]) -> None:
    [same] = ask('a?', prompt=GroundingPrompt(name='other', sha256='12'))
    assert other[0].key != ask('a?')[0].key == same.key


@pytest.mark.parametrize('other', [
    Generate('t', ('a', image(0)), 5), Generate('s', ('b', image(0)), 5),
    Generate('s', ('a', image(1)), 5), Generate('s', ('a', image(0)), 6),
    Generate('s', (image(0), 'a'), 5), Generate('s', ('a', image(0), ''), 5),
    Generate('s', ('a', image(0).reshape(8, 6, 3)), 5)])
def test_whatever_a_prompt_holds_changes_the_key(other: Generate) -> None:
    assert other.key != Generate('s', ('a', image(0)), 5).key


def test_an_episode_that_was_begun_again_counts_from_its_last_start(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    for _ in range(2):
        backend.start_episode('e')
        ask_all(backend, ask('a?'))
    backend.start_episode('f')
    ask_all(backend, ask('a?'))
    backend.close()
    again = replay(path)
    for episode, text in (('f', 'Yes 3'), ('e', 'Yes 2'), ('f', 'Yes 3')):
        again.start_episode(episode)
        assert ask_all(again, ask('a?'))[0].text == text


def test_by_the_key_alone_where_an_image_tells_situations_apart(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    backend.start_episode('e')
    ask_all(backend, ask('a?'))
    ask_all(backend, ask('a?', seed=None))
    backend.close()
    again = replay(path)
    again.start_episode('another')
    assert [ask_all(again, ask('a?'))[0].text for _ in range(3)] == ['Yes 1'] * 3
    with pytest.raises(BackendError, match='episode was not recorded'):
        ask_all(again, ask('a?', seed=None))
    again.start_episode('e')
    assert ask_all(again, ask('a?', seed=None))[0].text == 'Yes 2'
    with pytest.raises(BackendError, match='less often'):
        ask_all(again, ask('a?', seed=None))


def test_an_episode_is_given_as_it_was_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    for episode, text in (('e', 'a?'), ('f', 'b?')):
        backend.start_episode(episode)
        ask_all(backend, ask(text))
        ask_one(backend, Generate('', (text, image(0))))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    assert ask_all(again, ask('a?'))[0].text == 'Yes 1'
    ask_one(again, Generate('', ('a?', image(0))))
    for text in ('a?', 'b?'):
        with pytest.raises(BackendError, match='less often'):
            ask_all(again, ask(text))
        with pytest.raises(BackendError, match='less often'):
            ask_one(again, Generate('', (text, image(0))))
    for episode in ('x', 'y'):
        again.start_episode(episode)
        assert [r.text for r in ask_all(again, ask('a?', 'b?', 'b?'))] == ['Yes 1', 'Yes 3',
                                                                           'Yes 3']


class Failing(Counting):
    """Fails as told, after it has spent something."""

    def __init__(self, *errors: SightplanError | None) -> None:
        super().__init__()
        self.errors = list(errors)

    def _spend(self, number: int) -> None:
        super()._spend(number)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error


def outcome(backend: Any, request: Any) -> Any:
    try:
        return (ask_all(backend, request) if isinstance(request, list)
                else ask_one(backend, request))
    except SightplanError as error:
        return type(error), str(error)


def test_a_call_that_failed_fails_again(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    text = Generate('', ('Plan!', image(0)), 9)
    requests = [ask('a?'), ask('a?', 'b?'), ask('a?'), text, text, ask('b?', seed=7)]
    backend = recording.Recorded(Failing(
        None, BackendError('down'), None, DeadlineError('late'), None,
        SpendingCapError('all spent')), path)
    backend.start_episode('e')
    said = [(outcome(backend, request), backend.usage) for request in requests]
    backend.start_episode('f')
    ask_all(backend, ask('b?'))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    assert [(outcome(again, request), again.usage) for request in requests] == said
    assert [said[number][0] for number in (1, 3, 5)] == [
        (BackendError, 'down'), (DeadlineError, 'late'), (SpendingCapError, 'all spent')]
    again.start_episode('another')
    assert [reply.text for reply in ask_all(again, ask('a?', 'b?'))] == ['Yes 1', 'Yes 8']
    again.start_episode('e')
    ask_all(again, ask('a?'))
    with pytest.raises(BackendError, match='down'):
        ask_all(again, ask('b?'))


def test_no_key_is_recorded_with_an_error(tmp_path: Path) -> None:
    backend = recording.Recorded(
        Failing(BackendError('Bearer abcdefgh, gsk_0123456789, http://me:pass@host/')),
        tmp_path / 'r.jsonl')
    with pytest.raises(BackendError):
        ask_all(backend, ask('a?'))
    message = lines(tmp_path / 'r.jsonl')[-1]['message']
    assert message == 'Bearer [key], [key], http://[key]@host/'


def test_what_was_not_recorded_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    backend.start_episode('e')
    ask_all(backend, ask('a?'))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    for request, why in ((ask('Is it?'), 'never asked'), (ask('a?', seed=5), 'not in the rec'),
                         (ask('a?', prompt=GroundingPrompt('mine', 's')), 'asked otherwise')):
        with pytest.raises(BackendError, match=why) as caught:
            ask_all(again, request)
        message = str(caught.value)
        assert request[0].question.text in message and '--record' in message
        assert request[0].observation.image_id in message and str(path) in message
    with pytest.raises(BackendError, match="text 'Plan!'"):
        ask_one(again, Generate('', ('Plan!', image(0))))


def test_a_torn_last_line_is_left_out_and_cut_off_before_appending(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    backend.start_episode('e')
    ask_all(backend, ask('a?', 'b?'))
    backend.close()
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for cut in (2, 10, len(last) - 1):
        path.write_bytes(whole[:-cut])
        again = replay(path)
        again.start_episode('e')
        assert ask_all(again, ask('a?'))[0].text == 'Yes 1'
        with pytest.raises(BackendError):
            ask_all(again, ask('b?'))
        backend = recording.Recorded(Counting(), path)
        ask_all(backend, ask('c?'))
        backend.close()
        assert path.read_bytes().startswith(whole[:-len(last)])
        assert lines(path)[-1]['content']['question'] == 'c?'
        path.write_bytes(whole)


def test_even_a_torn_first_line_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    path.write_text('{"kind": "rec')
    recording.Recorded(Counting(), path).close()
    assert replay(path).name == 'counting@1'


def test_a_killed_process_leaves_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    code = textwrap.dedent(f'''
        import os, signal
        from test_vlm_replay import Counting, ask, ask_all, recording
        backend = recording.Recorded(Counting(), {str(path)!r})
        backend.start_episode('e')
        ask_all(backend, ask('a?', 'b?'))
        os.kill(os.getpid(), signal.SIGKILL)
        ''')
    done = subprocess.run([sys.executable, '-c', code], cwd=Path(__file__).parent,
                          env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    assert [reply.text for reply in ask_all(replay(path), ask('a?', 'b?'))] == ['Yes 1', 'Yes 2']


def test_one_writer_and_one_model_a_file(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    first = recording.Recorded(Counting(), path)
    with pytest.raises(InputError, match='another process'):
        recording.Recorded(Counting(), path)
    first.close()
    other = Counting()
    other.name = 'other@2'
    with pytest.raises(InputError, match=r'counting@1.*other@2'):
        recording.Recorded(other, path)
    path.write_text('{"not": "ours"}\n')
    with pytest.raises(InputError, match='no recording'):
        recording.Recorded(Counting(), path)
    assert path.read_text() == '{"not": "ours"}\n'
    with pytest.raises(InputError, match='cannot be written'):
        recording.Recorded(Counting(), path / 'below')


@dataclass(frozen=True)
class Sampling:
    temperature: float = param(0.0, 'changes replies')
    threads: int = param(1, 'changes none', identity=False)


def test_more_is_appended_under_the_same_settings_only(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    recording.Recorded(Counting(), path, name='a', settings=Sampling()).close()
    recording.Recorded(Counting(), path, name='a', settings=Sampling(threads=2)).close()
    recording.Recorded(Counting(), path).close()
    with pytest.raises(InputError, match=r'temperature = 0\.0, not 0\.5.*another file'):
        recording.Recorded(Counting(), path, name='a', settings=Sampling(0.5))
    with pytest.raises(InputError, match=r"backend 'a', not 'b'"):
        recording.Recorded(Counting(), path, name='b', settings=Sampling())
    assert len(lines(path)) == 1
    path.write_text('{"kind": "recording", "format": 4, "model": "counting@1"}\n')
    recording.Recorded(Counting(), path, name='a', settings=Sampling(0.5)).close()


def test_a_full_disk_is_named_and_leaves_whole_lines(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path)
    size = path.stat().st_size
    write = os.write
    monkeypatch.setattr(os, 'write', lambda fd, data: write(fd, data[:20]))
    with pytest.raises(InfrastructureError, match='No space left'):
        ask_all(backend, ask('a?'))
    assert path.stat().st_size == size


def test_images_are_saved_once_and_exactly(tmp_path: Path) -> None:
    from PIL import Image
    path = tmp_path / 'r.jsonl'
    backend = recording.Recorded(Counting(), path, images=True)
    ask_all(backend, ask('a?'))
    ask_all(backend, ask('b?'))
    ask_one(backend, Generate('', ('t', image(1))))
    backend.close()
    saved = sorted((tmp_path / 'images').iterdir())
    assert len(saved) == 2
    for file in saved:
        pixels = np.asarray(Image.open(file))
        assert Observation(pixels).image_id == file.stem
    assert {name for line in lines(path) if line['kind'] == 'reply'
            for name in line['images']} == {file.stem for file in saved}


def test_a_folder_of_recordings_is_read_as_one(tmp_path: Path) -> None:
    for name, text in (('replies.jsonl', 'a?'), ('replies-planner.jsonl', 'b?')):
        backend = recording.Recorded(Counting(), tmp_path / name)
        ask_all(backend, ask(text))
        backend.close()
    assert len(ask_all(replay(tmp_path), ask('a?', 'b?'))) == 2
    other = Counting()
    other.name = 'other@2'
    recording.Recorded(other, tmp_path / 'replies-2.jsonl').close()
    with pytest.raises(InputError, match=r'other@2'):
        replay(tmp_path)


@pytest.mark.parametrize(('content', 'reason'), [
    ('HEAD\nnonsense\n', ':2:.*remove'), ('HEAD\n{}\n', ':2:'),
    (('HEAD\n{"kind": "reply", "query": "yes_no", "episode": "", "key": "k", "images": [], '
     '"reply": {"text": 3}}\n'), 'text must be a text'),
    (('HEAD\n{"kind": "reply", "query": "text", "episode": "", "key": "k", "images": [{}], '
     '"reply": {"text": ""}}\n'), ':2:'),
    (('HEAD\n{"kind": "failure", "episode": "", "keys": [], "images": [], "error": "Exception", '
      '"message": ""}\n'), "unknown error 'Exception'"),
    (('HEAD\n{"kind": "failure", "episode": "", "keys": [3], "images": [], '
      '"error": "BackendError", "message": ""}\n'), 'keys and images must be texts')])
def test_damaged_files_are_named(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / 'r.jsonl'
    if content is not None:
        path.write_text(content.replace(
            'HEAD', '{"kind": "recording", "format": 4, "model": "m"}'))
    with pytest.raises(InputError, match=reason):
        replay(path)


def test_the_path_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='path is missing'):
        make_backend('replay')
    with pytest.raises(InputError, match='holds no recording'):
        replay(tmp_path)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['kind', 'query', 'episode', 'key', 'reply', 'text', 'p_yes', 'truncated',
                         'usage', 'keys', 'images', 'error', 'message']), inner, max_size=9),
    max_leaves=12), max_size=3), st.sampled_from(['reply', 'shared', 'episode', 'failure', None]))
def test_any_file_is_read_or_refused(tmp_path_factory: Any, data: list[Any],
                                     kind: str | None) -> None:
    path = tmp_path_factory.getbasetemp() / 'any.jsonl'
    for item in data:
        if isinstance(item, dict) and kind:
            item['kind'] = kind
    path.write_text('{"kind": "recording", "format": 4, "model": "m"}\n'
                    + ''.join(json.dumps(item) + '\n' for item in data))
    try:
        backend = replay(path)
    except InputError:
        return
    assert backend.name == 'm'


@given(st.lists(st.integers(0, 10**6), max_size=6), st.sampled_from([0.15, 1.1, 2.5]))
def test_what_was_spent_between_readings_does_not_depend_on_the_counters_state(
        tokens: list[int], price: float) -> None:
    earlier = Usage(cost_usd=12.34)
    for count in tokens:
        part = Usage(1, count, 0, round(count * price / 1e6, 12))
        assert (earlier + part) - earlier == part
        earlier += part


# Whole runs.

_TIMES = {'seconds', 'timings_s'}


def timeless(data: Any) -> Any:
    """Without wall-clock times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in _TIMES}
    return [timeless(item) for item in data] if isinstance(data, list) else data


def results(folder: Path) -> list[Any]:
    return [timeless(line) for line in RunStore(folder).lines()]


@pytest.fixture
def noisy(tmp_path: Path) -> dict[str, Any]:
    table = tmp_path / 'table.json'
    table.write_text('{"rates": {"default": {"p_yes_true": 0.93, "p_yes_false": 0.06, '
                     '"p_unparsed": 0.02}}}')
    return {'backend': 'noisy_oracle', 'backend_options': {'table': str(table)},
            'failure_probability': 0.3}


def test_a_run_is_repeated_from_its_recording_without_truth(
        tmp_path: Path, noisy: dict[str, Any]) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    for name in 'abcdef':
        (problems / f'{name}.pddl').write_text(TWO_BLOCKS)

    def go(out: str, **values: Any) -> dict[str, Any]:
        return run(RunSettings(problems=str(problems), out=str(tmp_path / out), **values),
                   world=MemoryWorld(), planner=SearchPlanner())
    go('first', record=True, **noisy)
    assert not lines(tmp_path / 'first' / recording.NAME)[-1].get('usage')
    first = results(tmp_path / 'first')
    assert any(line['wrong'] for line in first) and any(measures.solved(line) for line in first)
    summary = go('second', backend='replay', failure_probability=0.3,
                 backend_options={'path': str(tmp_path / 'first')})
    assert results(tmp_path / 'second') == first
    assert summary['model'].startswith('noisy_oracle(')
    go('plain', **noisy)
    assert results(tmp_path / 'plain') == first


def test_an_error_of_an_episode_is_replayed(tmp_path: Path) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    for name in 'abc':
        (problems / f'{name}.pddl').write_text(TWO_BLOCKS)
    script = tmp_path / 'script.json'
    script.write_text(json.dumps({'replies': {  # of b none
        name: [json.dumps({'plan': []})] * 4 for name in ('a', 'c')}}))

    def go(out: str, backend: str, **options: Any) -> dict[str, Any]:
        return run(RunSettings(problems=str(problems), out=str(tmp_path / out), method='plan',
                               backend=backend, backend_options=options, record=True,
                               max_actions=3), world=MemoryWorld(), planner=SearchPlanner())
    first = go('first', 'scripted', script=str(script))
    again = go('again', 'replay', path=str(tmp_path / 'first'))
    assert first['scored'] == again['scored'] == 2 and first['episodes'] == 3
    assert results(tmp_path / 'again') == results(tmp_path / 'first')
    assert 'replies has no list' in str(results(tmp_path / 'again'))
    kinds = [line['kind'] for line in lines(tmp_path / 'again' / recording.NAME)]
    assert kinds.count('failure') == 1


@pytest.mark.parametrize('pictures', ['none', 'pybullet'])
def test_the_shipped_worlds_replay(tmp_path: Path, noisy: dict[str, Any], pictures: str) -> None:
    if pictures != 'none':
        pytest.importorskip('pybullet')
    common = {'episodes': 3, 'world_options': {'pictures': pictures}, 'failure_probability': 0.3,
              'max_actions': 6, 'seed': 3}
    run(RunSettings(out=str(tmp_path / 'first'), record_images=True, **{**noisy, **common}),
        planner=SearchPlanner(limit=40_000))
    run(RunSettings(out=str(tmp_path / 'second'), backend='replay',
                    backend_options={'path': str(tmp_path / 'first')}, **common),
        planner=SearchPlanner(limit=40_000))
    first = results(tmp_path / 'first')
    assert first == results(tmp_path / 'second') and any(line['wrong'] for line in first)
    assert list((tmp_path / 'first' / recording.IMAGES).glob('*.png'))


def test_a_resumed_recording_replays_the_committed_episodes(
        tmp_path: Path, noisy: dict[str, Any]) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    for name in 'abc':
        (problems / f'{name}.pddl').write_text(TWO_BLOCKS)

    class BreaksOff(MemoryWorld):
        left = 9

        def observe(self) -> Observation:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().observe()

    def go(out: str, world: MemoryWorld, **values: Any) -> dict[str, Any]:
        return run(RunSettings(problems=str(problems), out=str(tmp_path / out), **values),
                   world=world, planner=SearchPlanner())
    with pytest.raises(KeyboardInterrupt):
        go('first', BreaksOff(), record=True, **noisy)
    broken = len(lines(tmp_path / 'first' / recording.NAME))
    assert 0 < len(results(tmp_path / 'first')) < 3
    go('first', MemoryWorld(), record=True, **noisy)
    starts = [line['episode'] for line in lines(tmp_path / 'first' / recording.NAME)
              if line['kind'] == 'episode']
    assert len(starts) == 4 and len(set(starts)) == 3
    assert len(lines(tmp_path / 'first' / recording.NAME)) > broken
    go('second', MemoryWorld(), backend='replay', failure_probability=0.3,
       backend_options={'path': str(tmp_path / 'first')})
    assert results(tmp_path / 'second') == results(tmp_path / 'first')


@pytest.mark.parametrize('method', [
    'plan', 'plan_cot', 'action', 'action_cot', 'ground', 'ground_cot', 'ground_mem',
    'ground_mem_cot'])
def test_every_method_of_the_paper_is_replayed(tmp_path: Path, method: str) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    (problems / 'two.pddl').write_text(TWO_BLOCKS)
    moves = [{'action': 'moveblock', 'parameters': {'block': block, 'column': 'c2'}}
             for block in 'rg']
    replies: list[Any] = [{'plan': moves}, {'plan': moves[1:]}, {'plan': []}]
    if method.startswith('action'):
        replies = [*moves, {'action': None, 'parameters': {}}]
    if method.endswith('cot'):
        replies = [{'explanation': 'As I see it.', **reply} for reply in replies]
    script = tmp_path / 'script.json'
    script.write_text(json.dumps({
        'replies': ['I cannot say.', *replies], 'repeat': 'last',
        'answers': {'default': '<explanation>So.</explanation><answer>No</answer>'}}))

    def go(out: str, backend: str, **options: Any) -> dict[str, Any]:
        return run(RunSettings(problems=str(problems), out=str(tmp_path / out), method=method,
                               backend=backend, backend_options=options, record=True,
                               max_actions=6),
                   world=MemoryWorld(), planner=SearchPlanner())
    first = go('first', 'scripted', script=str(script))
    again = go('again', 'replay', path=str(tmp_path / 'first'))
    assert first['scored'] == again['scored'] == 1
    if not method.startswith('ground'):
        assert first['solved'] == 1
    assert results(tmp_path / 'again') == results(tmp_path / 'first')
    same = {'kind', 'query', 'episode', 'key', 'reply', 'usage'}
    kept = [[{key: line.get(key) for key in same}
             for line in lines(tmp_path / out / recording.NAME)
             if line['kind'] != 'recording'] for out in ('first', 'again')]
    assert kept[0] == kept[1] and len(kept[0]) > 3


class Pointing(Counting):
    """Another place for each call; fails on request."""


    @answers(Locate)
    def locate(self, request: Locate, deadline: Deadline) -> LocateReply:
        self.calls += 1
        self._spend(1)
        if request.target.text == 'nothing':
            raise DeadlineError('too slow')
        best, corner = (self.calls / 100, 0.5), (0.9, 0.9)
        box = request.target.form is Form.BOX
        return LocateReply((Region(request.target.form, (best, corner) if box else (best,), 'mug',
                                   0.25),),
                           f'here {self.calls} \ud800', 0.75, rounded=2, unknown=('mug',),
                           exists=0.5)


class Checking(Pointing):
    """With a way of its own to check places."""

    @answers(Check)
    def check(self, request: Check, deadline: Deadline) -> Answer:
        self.calls += 1
        self._spend(1)
        return Answer(f'Yes {self.calls}', 0.5, 0.25)


def find(text: str = 'the mug', seed: int = 0, **more: Any) -> Locate:
    return Locate(image(seed), Target(text, more.pop('form', Form.POINT)), **more)


PLACE = Region(Form.POINT, ((0.5, 0.5),))


def test_places_come_back_in_order_with_what_they_cost(tmp_path: Path) -> None:
    backend: Any = recording.Recorded(Checking(), tmp_path / 'r.jsonl', images=True)
    asked = [find(), find(attempt=1), find(), find(form=Form.BOX), find(start=(0.1, 0.2)),
             find(seed=1), find(depth_m=np.ones((6, 8), np.float32))]
    checks = [Check(image(0), Target('the mug'), PLACE, mask, attempt)
              for mask in (None, np.ones((6, 8), bool)) for attempt in (0, 1)]
    backend.start_episode('e')
    said = [ask_one(backend, request) for request in asked]
    said += [ask_one(backend, request) for request in checks]
    with pytest.raises(DeadlineError, match='too slow'):
        ask_one(backend, find('nothing'))
    spent = backend.usage
    backend.close()
    assert can_ask(backend, Locate) and len(set(map(repr, said))) == len(asked) + len(checks)
    again = replay(tmp_path / 'r.jsonl')
    again.start_episode('e')
    assert [ask_one(again, request) for request in asked] == said[:len(asked)]
    assert [ask_one(again, request) for request in checks] == said[len(asked):]
    with pytest.raises(DeadlineError, match='too slow'):
        ask_one(again, find('nothing'))
    assert again.usage == spent
    for other in (Check(image(0), Target('the mug'), PLACE, np.zeros((6, 8), bool)),
                  Check(image(0), Target('the mug'), Region(Form.POINT, ((0.5, 0.6),)))):
        with pytest.raises(BackendError, match="check .*is the marked point 'the mug'"):
            ask_one(again, other)
    assert {path.stem for path in (tmp_path / 'images').iterdir()} == {
        picture_id(image(seed)) for seed in (0, 1)}


def test_what_was_not_asked_is_refused(tmp_path: Path) -> None:
    backend: Any = recording.Recorded(Pointing(), tmp_path / 'r.jsonl')
    backend.start_episode('e')
    ask_one(backend, find())
    backend.close()
    again = replay(tmp_path / 'r.jsonl')
    again.start_episode('e')
    for request in (find('the pan'), find(attempt=1), find(form=Form.BOX), find(start=(0, 0)),
                    find(seed=1), find(depth_m=np.zeros((6, 8), np.float32))):
        with pytest.raises(BackendError, match='holds no reply to locate'):
            ask_one(again, request)
    ask_one(again, find())
    with pytest.raises(BackendError, match='less often'):
        ask_one(again, find())


def test_what_differs_from_the_most_similar_recorded_query_is_named(tmp_path: Path) -> None:
    backend: Any = recording.Recorded(Pointing(), tmp_path / 'r.jsonl')
    ask_one(backend, find('the mug ' * 30))
    ask_one(backend, find('the pan', attempt=4))
    backend.close()
    again = replay(tmp_path / 'r.jsonl')
    with pytest.raises(BackendError, match=r'differs in depth_m \(recorded nothing, now '):
        ask_one(again, find('the mug ' * 30, depth_m=np.ones((6, 8), np.float32)))
    with pytest.raises(BackendError, match=r'differs in attempt \(recorded 4, now 3\)'):
        ask_one(again, find('the pan', attempt=3))


def test_a_model_without_a_way_to_check_is_asked_a_question_in_replay_too(tmp_path: Path) -> None:
    backend: Any = recording.Recorded(Prompted(Pointing()), tmp_path / 'r.jsonl')
    picture = np.full((60, 80, 3), 90, np.uint8)
    request = Check(picture, Target('the mug'), PLACE)
    reply = ask_one(backend, request)
    backend.close()
    assert [line.get('query') for line in lines(tmp_path / 'r.jsonl')] == [None, 'check']
    assert ask_one(replay(tmp_path / 'r.jsonl'), request) == reply


def test_replay_names_what_pointed_and_whether_it_writes(tmp_path: Path) -> None:
    class Finger(ModelByKind):
        name = 'finger@2'

        @answers(Locate)
        def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
            return LocateReply()

    class Asked(ModelByKind):
        name = 'eyes@1'

        @answers(YesNo)
        def answer(self, query: YesNo, deadline: Deadline) -> Answer:
            return Answer('Yes')

    backend: Any = recording.Recorded(Router(Asked(), {Locate: Finger()}), tmp_path / 'r.jsonl')
    assert (backend.name, part_name(backend, Locate)) == ('eyes@1', 'finger@2')
    assert ask_one(backend, find()).model == 'finger@2'
    backend.close()
    again = replay(tmp_path / 'r.jsonl')
    assert (again.name, part_name(again, Locate)) == ('eyes@1', 'finger@2')
    assert again.accepts == {YesNo, Locate} and ask_one(again, find()).model == 'finger@2'


def test_a_model_that_cannot_point_is_recorded_as_one_that_cannot(tmp_path: Path) -> None:
    backend: Any = recording.Recorded(Counting(), tmp_path / 'r.jsonl')
    assert not can_ask(backend, Locate) and not can_ask(backend, Check)
    backend.close()


@pytest.mark.parametrize(('field', 'value'), [
    ('regions', 3), ('regions', [{'form': 'dot', 'points': []}]), ('regions', ['x']),
    ('rounded', 'two'), ('probability', 'high'), ('unread', None), ('colour', 3)])
def test_a_damaged_line_of_a_place_is_named(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / 'r.jsonl'
    backend: Any = recording.Recorded(Pointing(), path)
    ask_one(backend, find())
    backend.close()
    header, line = lines(path)
    path.write_text(json.dumps(header) + '\n' + json.dumps({
        **line, 'reply': {**line['reply'], field: value}}) + '\n')
    with pytest.raises(InputError, match=r'r.jsonl:2: is not a line of a recording'):
        replay(path)


def test_detections_are_replayed(tmp_path: Path) -> None:
    class Finding(Counting):
        @answers(Detect)
        def detect(self, request: Detect, deadline: Deadline) -> DetectReply:
            self.calls += 1
            self._spend(1)
            return DetectReply((Detection(Region(Form.BOX, ((0.1, 0.2), (0.3, 0.4))),
                                          {'mug': 1 / (self.calls + 1)}, {'red': 0.5}, 0.9),
                                Detection(Region(Form.BOX, ((0.5, 0.2), (0.9, 0.4))),
                                          {'drawer:top': 1.0}, opened=0.25)))

    asked = [Detect(image(1)), Detect(image(1), attempt=1), Detect(image(2))]
    backend = recording.Recorded(Finding(), tmp_path / 'r.jsonl')
    said = [ask_one(backend, request) for request in asked]
    backend.close()
    again: Any = make_backend('replay', {'path': str(tmp_path / 'r.jsonl')})
    assert again.accepts == {YesNo, Generate, Detect}
    assert [ask_one(again, request) for request in asked] == said
    assert again.usage == Usage(3, 300, 3, pytest.approx(0.1 + 0.2 + 0.3))
    with pytest.raises(BackendError, match='no reply to detect'):
        ask_one(again, Detect(image(3)))


def test_choices_are_replayed_with_their_probabilities(tmp_path: Path) -> None:
    class Truth:
        def better(self, first: str, second: str) -> int:
            return 1 if first < second else -1

    path = tmp_path / 'replies.jsonl'
    backend = recording.Recorded(make_backend('noisy_critic', {}, Truth()), path)
    asked = [Choose(('Which?',), options, subjects, properties)
             for options in (('Path 1', 'Path 2'), ('ab12', 'cd34'))
             for subjects in (('a', 'b'), ('b', 'a'))
             for properties in ((), (('path_length', -1),))]
    backend.start_episode('one')
    said = [ask_one(backend, request) for request in asked]
    backend.close()

    again = make_backend('replay', {'path': str(path)})
    again.start_episode('one')
    assert [ask_one(again, request) for request in asked] == said
    assert all(reply.probabilities for reply in said)
    again.start_episode('one')
    with pytest.raises(BackendError, match='which of Path 1, Path 2'):
        ask_one(again, Choose(('Which one?',), ('Path 1', 'Path 2'), ('a', 'b')))


@pytest.mark.parametrize('in_words', [False, True])
def test_a_task_in_words_is_asked_about_in_replay_as_before(
        tmp_path: Path, in_words: bool) -> None:
    class Reader(Counting):
        traits = Traits(texts=not in_words)

    path, once = tmp_path / 'replies.jsonl', WishSettings(wordings=1)
    plain = understand(Reader(), 'Be quick.', once)
    backend = recording.Recorded(Reader(), path)
    said = understand(backend, 'Be quick.', once)
    backend.close()
    assert lines(path)[-1]['query'] == ('text' if in_words else 'yes_no')
    again = understand(replay(path), 'Be quick.', once)
    assert said == plain and again == said


def test_a_model_without_yes_no_answers_is_recorded_as_one(tmp_path: Path) -> None:
    class Chooser(ModelByKind):
        name = 'chooser'

        @answers(Choose)
        def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
            return ChoiceReply(chosen=0)

    recording.Recorded(Chooser(), tmp_path / 'replies.jsonl').close()
    assert replay(tmp_path / 'replies.jsonl').accepts == {Choose}
