"""Recording of requests and replies, and the backend ``replay``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
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
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan.vlm import recording
from sightplan.vlm.api import (
    TextReply,
    TextRequest,
    YesNoReply,
    YesNoRequest,
    backend_class,
    can_locate,
    make_backend,
)
from sightplan.vlm.choosing import ChoiceRequest, choose
from sightplan.vlm.detecting import Detection, DetectReply, DetectRequest
from sightplan.vlm.locating import CheckRequest, LocateReply, LocateRequest, check
from sightplan_suites.paths.wishes import WishSettings, understand


def image(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)


def ask(*texts: str, seed: int | None = 0, prompt: GroundingPrompt = BARE) -> YesNoRequest:
    seen = Observation(None if seed is None else image(seed))
    return YesNoRequest(seen, tuple(Question(Atom('p'), text) for text in texts), prompt=prompt)


class Counting:
    """A model whose every reply is another one, and costs another sum."""

    needs_truth, needs_pixels, generates = False, True, True
    model = 'counting@1'

    def __init__(self) -> None:
        self.calls = 0
        self.usage: Usage | None = Usage(cost_usd=0.0)
        self.closed = 0
        self.carried: Usage | None = None

    def _spend(self, number: int) -> None:
        assert self.usage is not None
        self.usage += Usage(number, 100 * number, number, 0.1 * self.calls)

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        replies = []
        for _ in request.questions:
            self.calls += 1
            replies.append(YesNoReply(f'Yes {self.calls}', 1 / (self.calls + 2), None))
        self._spend(len(replies))
        return replies

    def generate(self, request: TextRequest) -> TextReply:
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
    backend = recording.recorded(Counting(), path, name='counting')
    text = TextRequest('system', ('look', image(3), 'at this'), 77)
    requests = [ask('a?', 'b?'), text, ask('a?'), ask('a?', seed=1), text]
    said, spent = [], []

    def step(model: Any, request: Any) -> None:
        before = model.usage
        said.append(model.answer(request) if isinstance(request, YesNoRequest)
                    else model.generate(request))
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
    assert again.model == 'counting@1'
    again.start_episode('e', 'simple')
    assert again.answer(ask('a?')) == said[0][:1], 'an episode that begins again'
    assert [line['kind'] for line in lines(path)] == [
        'recording', 'episode', 'prompt', 'yes_no', 'yes_no', 'text', 'yes_no', 'yes_no', 'text']


def test_the_wrapper_is_the_backend_it_wraps(tmp_path: Path) -> None:
    inner = Counting()
    backend = recording.recorded(inner, tmp_path / 'r.jsonl')
    assert (backend.needs_truth, backend.needs_pixels, backend.generates) == (False, True, True)
    assert backend.model == inner.model and backend.usage == inner.usage
    backend.carry_over(Usage(3))
    backend.close()
    assert inner.carried == Usage(3) and inner.closed == 1
    with pytest.raises(InfrastructureError, match='closed'):
        backend.answer(ask('a?'))


def test_replay_is_chosen_by_name_and_needs_neither_pictures_nor_model() -> None:
    assert backend_class('replay').generates and not backend_class('replay').needs_pixels


@pytest.mark.parametrize('other', [
    ask('b?'), ask('a?', seed=1), ask('a?', seed=None),
    ask('a?', prompt=GroundingPrompt(system='s')), ask('a?', prompt=GroundingPrompt(max_tokens=9)),
    ask('a?', prompt=GroundingPrompt(after_image='m')),
    ask('a?', prompt=GroundingPrompt(reasoning=True)),
    ask('a?', prompt=GroundingPrompt(question='{question} Be brief.'))])
def test_whatever_the_model_is_shown_changes_the_key(other: YesNoRequest) -> None:
    assert recording.yes_no_keys(other) != recording.yes_no_keys(ask('a?'))
    assert recording.yes_no_keys(ask('a?')) == recording.yes_no_keys(
        ask('a?', prompt=GroundingPrompt(name='other', sha256='12')))


@pytest.mark.parametrize('other', [
    TextRequest('t', ('a', image(0)), 5), TextRequest('s', ('b', image(0)), 5),
    TextRequest('s', ('a', image(1)), 5), TextRequest('s', ('a', image(0)), 6),
    TextRequest('s', (image(0), 'a'), 5), TextRequest('s', ('a', image(0), ''), 5),
    TextRequest('s', ('a', image(0).reshape(8, 6, 3)), 5)])
def test_whatever_a_prompt_holds_changes_the_key(other: TextRequest) -> None:
    assert recording.text_key(other) != recording.text_key(TextRequest('s', ('a', image(0)), 5))


def test_an_episode_that_was_begun_again_counts_from_its_last_start(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    for _ in range(2):
        backend.start_episode('e')
        backend.answer(ask('a?'))
    backend.start_episode('f')
    backend.answer(ask('a?'))
    backend.close()
    again = replay(path)
    for episode, text in (('f', 'Yes 3'), ('e', 'Yes 2'), ('f', 'Yes 3')):
        again.start_episode(episode)
        assert again.answer(ask('a?'))[0].text == text


def test_by_the_key_alone_where_an_image_tells_situations_apart(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    backend.start_episode('e')
    backend.answer(ask('a?'))
    backend.answer(ask('a?', seed=None))
    backend.close()
    again = replay(path)
    again.start_episode('another')
    assert [again.answer(ask('a?'))[0].text for _ in range(3)] == ['Yes 1'] * 3
    with pytest.raises(BackendError, match='episode was not recorded'):
        again.answer(ask('a?', seed=None))
    again.start_episode('e')
    assert again.answer(ask('a?', seed=None))[0].text == 'Yes 2'
    with pytest.raises(BackendError, match='less often'):
        again.answer(ask('a?', seed=None))


def test_an_episode_is_given_as_it_was_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    for episode, text in (('e', 'a?'), ('f', 'b?')):
        backend.start_episode(episode)
        backend.answer(ask(text))
        backend.generate(TextRequest('', (text, image(0))))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    assert again.answer(ask('a?'))[0].text == 'Yes 1'
    again.generate(TextRequest('', ('a?', image(0))))
    for text in ('a?', 'b?'):
        with pytest.raises(BackendError, match='less often'):
            again.answer(ask(text))
        with pytest.raises(BackendError, match='less often'):
            again.generate(TextRequest('', (text, image(0))))
    for episode in ('x', 'y'):
        again.start_episode(episode)
        assert [r.text for r in again.answer(ask('a?', 'b?', 'b?'))] == ['Yes 1', 'Yes 3', 'Yes 3']


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
        return (backend.answer(request) if isinstance(request, YesNoRequest)
                else backend.generate(request))
    except SightplanError as error:
        return type(error), str(error)


def test_a_call_that_failed_fails_again(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    text = TextRequest('', ('Plan!', image(0)), 9)
    requests = [ask('a?'), ask('a?', 'b?'), ask('a?'), text, text, ask('b?', seed=7)]
    backend = recording.recorded(Failing(
        None, BackendError('down'), None, DeadlineError('late'), None,
        SpendingCapError('all spent')), path)
    backend.start_episode('e')
    said = [(outcome(backend, request), backend.usage) for request in requests]
    backend.start_episode('f')
    backend.answer(ask('b?'))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    assert [(outcome(again, request), again.usage) for request in requests] == said
    assert [said[number][0] for number in (1, 3, 5)] == [
        (BackendError, 'down'), (DeadlineError, 'late'), (SpendingCapError, 'all spent')]
    again.start_episode('another')
    assert [reply.text for reply in again.answer(ask('a?', 'b?'))] == ['Yes 1', 'Yes 8']
    again.start_episode('e')
    again.answer(ask('a?'))
    with pytest.raises(BackendError, match='down'):
        again.answer(ask('b?'))


def test_no_key_is_recorded_with_an_error(tmp_path: Path) -> None:
    backend = recording.recorded(
        Failing(BackendError('Bearer abcdefgh, gsk_0123456789, http://me:pass@host/')),
        tmp_path / 'r.jsonl')
    with pytest.raises(BackendError):
        backend.answer(ask('a?'))
    message = lines(tmp_path / 'r.jsonl')[-1]['message']
    assert message == 'Bearer [key], [key], http://[key]@host/'


def test_what_was_not_recorded_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    backend.start_episode('e')
    backend.answer(ask('a?'))
    backend.close()
    again = replay(path)
    again.start_episode('e')
    for request, why in ((ask('Is it?'), 'never asked'), (ask('a?', seed=5), 'not in the rec'),
                         (ask('a?', prompt=GroundingPrompt('mine', 's')), 'asked otherwise')):
        with pytest.raises(BackendError, match=why) as caught:
            again.answer(request)
        message = str(caught.value)
        assert request.questions[0].text in message and '--record' in message
        assert request.observation.image_id in message and str(path) in message
    with pytest.raises(BackendError, match="begins 'Plan!'"):
        again.generate(TextRequest('', ('Plan!', image(0))))


def test_a_torn_last_line_is_left_out_and_cut_off_before_appending(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    backend.start_episode('e')
    backend.answer(ask('a?', 'b?'))
    backend.close()
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for cut in (2, 10, len(last) - 1):
        path.write_bytes(whole[:-cut])
        again = replay(path)
        again.start_episode('e')
        assert again.answer(ask('a?'))[0].text == 'Yes 1'
        with pytest.raises(BackendError):
            again.answer(ask('b?'))
        backend = recording.recorded(Counting(), path)
        backend.answer(ask('c?'))
        backend.close()
        assert path.read_bytes().startswith(whole[:-len(last)])
        assert lines(path)[-1]['question'] == 'c?'
        path.write_bytes(whole)


def test_even_a_torn_first_line_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    path.write_text('{"kind": "rec')
    recording.recorded(Counting(), path).close()
    assert replay(path).model == 'counting@1'


def test_a_killed_process_leaves_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    code = textwrap.dedent(f'''
        import os, signal
        from test_vlm_replay import Counting, ask, recording
        backend = recording.recorded(Counting(), {str(path)!r})
        backend.start_episode('e')
        backend.answer(ask('a?', 'b?'))
        os.kill(os.getpid(), signal.SIGKILL)
        ''')
    done = subprocess.run([sys.executable, '-c', code], cwd=Path(__file__).parent,
                          env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert done.returncode == -signal.SIGKILL
    assert [reply.text for reply in replay(path).answer(ask('a?', 'b?'))] == ['Yes 1', 'Yes 2']


def test_one_writer_and_one_model_a_file(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    first = recording.recorded(Counting(), path)
    with pytest.raises(InputError, match='another process'):
        recording.recorded(Counting(), path)
    first.close()
    other = Counting()
    other.model = 'other@2'
    with pytest.raises(InputError, match=r'counting@1.*other@2'):
        recording.recorded(other, path)
    path.write_text('{"not": "ours"}\n')
    with pytest.raises(InputError, match='no recording'):
        recording.recorded(Counting(), path)
    assert path.read_text() == '{"not": "ours"}\n'
    with pytest.raises(InputError, match='cannot be written'):
        recording.recorded(Counting(), path / 'below')


@dataclass(frozen=True)
class Sampling:
    temperature: float = param(0.0, 'changes replies')
    threads: int = param(1, 'changes none', identity=False)


def test_more_is_appended_under_the_same_settings_only(tmp_path: Path) -> None:
    path = tmp_path / 'r.jsonl'
    recording.recorded(Counting(), path, name='a', settings=Sampling()).close()
    recording.recorded(Counting(), path, name='a', settings=Sampling(threads=2)).close()
    recording.recorded(Counting(), path).close()
    with pytest.raises(InputError, match=r'temperature = 0\.0, not 0\.5.*another file'):
        recording.recorded(Counting(), path, name='a', settings=Sampling(0.5))
    with pytest.raises(InputError, match=r"backend 'a', not 'b'"):
        recording.recorded(Counting(), path, name='b', settings=Sampling())
    assert len(lines(path)) == 1
    path.write_text('{"kind": "recording", "format": 3, "model": "counting@1"}\n')
    recording.recorded(Counting(), path, name='a', settings=Sampling(0.5)).close()


def test_a_full_disk_is_named_and_leaves_whole_lines(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path)
    size = path.stat().st_size
    write = os.write
    monkeypatch.setattr(os, 'write', lambda fd, data: write(fd, data[:20]))
    with pytest.raises(InfrastructureError, match='No space left'):
        backend.answer(ask('a?'))
    assert path.stat().st_size == size


def test_images_are_saved_once_and_exactly(tmp_path: Path) -> None:
    from PIL import Image
    path = tmp_path / 'r.jsonl'
    backend = recording.recorded(Counting(), path, images=True)
    backend.answer(ask('a?'))
    backend.answer(ask('b?'))
    backend.generate(TextRequest('', ('t', image(1))))
    backend.close()
    saved = sorted((tmp_path / 'images').iterdir())
    assert len(saved) == 2
    for file in saved:
        pixels = np.asarray(Image.open(file))
        assert Observation(pixels).image_id == file.stem
    assert {line['image'] for line in lines(path) if line['kind'] == 'yes_no'} <= {
        file.stem for file in saved}


def test_a_folder_of_recordings_is_read_as_one(tmp_path: Path) -> None:
    for name, text in (('replies.jsonl', 'a?'), ('replies-planner.jsonl', 'b?')):
        backend = recording.recorded(Counting(), tmp_path / name)
        backend.answer(ask(text))
        backend.close()
    assert len(replay(tmp_path).answer(ask('a?', 'b?'))) == 2
    other = Counting()
    other.model = 'other@2'
    recording.recorded(other, tmp_path / 'replies-2.jsonl').close()
    with pytest.raises(InputError, match=r'other@2'):
        replay(tmp_path)


@pytest.mark.parametrize(('content', 'reason'), [
    (None, 'cannot be read'), ('', ':1: this is no recording'), ('[]\n', ':1:'),
    ('{"kind": "recording", "format": 1, "model": "m"}\n', 'format 3'),
    ('HEAD\nnonsense\n', ':2:.*remove'), ('HEAD\n{}\n', ':2:'), ('HEAD\n{"kind": "x"}\n', ':2:'),
    (('HEAD\n{"kind": "yes_no", "episode": "", "key": "k", "image": "", "question": "", '
     '"text": 3, "p_yes": null, "p_no": null}\n'), 'text must be a text'),
    (('HEAD\n{"kind": "text", "episode": "", "key": "k", "parts": [{}], "text": "", '
     '"truncated": false}\n'), ':2:'),
    (('HEAD\n{"kind": "failure", "episode": "", "keys": [], "images": [], "error": "Exception", '
      '"message": ""}\n'), "unknown error 'Exception'"),
    (('HEAD\n{"kind": "failure", "episode": "", "keys": [3], "images": [], '
      '"error": "BackendError", "message": ""}\n'), 'keys and images must be texts')])
def test_damaged_files_are_named(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / 'r.jsonl'
    if content is not None:
        path.write_text(content.replace(
            'HEAD', '{"kind": "recording", "format": 3, "model": "m"}'))
    with pytest.raises(InputError, match=reason):
        replay(path)


def test_the_path_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='path is missing'):
        make_backend('replay')
    with pytest.raises(InputError, match='holds no recording'):
        replay(tmp_path)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['kind', 'episode', 'key', 'image', 'text', 'p_yes', 'p_no', 'parts',
                         'truncated', 'usage', 'question', 'keys', 'images', 'error',
                         'message']), inner, max_size=9),
    max_leaves=12), max_size=3), st.sampled_from(['yes_no', 'text', 'episode', 'failure', None]))
def test_any_file_is_read_or_refused(tmp_path_factory: Any, data: list[Any],
                                     kind: str | None) -> None:
    path = tmp_path_factory.getbasetemp() / 'any.jsonl'
    for item in data:
        if isinstance(item, dict) and kind:
            item['kind'] = kind
    path.write_text('{"kind": "recording", "format": 3, "model": "m"}\n'
                    + ''.join(json.dumps(item) + '\n' for item in data))
    try:
        backend = replay(path)
    except InputError:
        return
    assert backend.model == 'm'


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
    same = {'kind', 'episode', 'key', 'text', 'p_yes', 'p_no', 'usage'}
    kept = [[{key: line.get(key) for key in same}
             for line in lines(tmp_path / out / recording.NAME)
             if line['kind'] != 'recording'] for out in ('first', 'again')]
    assert kept[0] == kept[1] and len(kept[0]) > 3


class Pointing(Counting):
    """Another place for each call; fails on request."""

    locates = True

    def locate(self, request: LocateRequest) -> LocateReply:
        self.calls += 1
        self._spend(1)
        if request.target.text == 'nothing':
            raise DeadlineError('too slow')
        place = Region(Form.POINT, ((self.calls / 100, 0.5),), 'mug', 0.25)
        return LocateReply((place, Region(Form.BOX, ((0.1, 0.2), (0.3, 0.4)))),
                           f'here {self.calls} \ud800', 0.75, rounded=2, unknown=('mug',),
                           named=0.5)


class Checking(Pointing):
    """With a way of its own to check places."""

    def check(self, request: CheckRequest) -> YesNoReply:
        self.calls += 1
        self._spend(1)
        return YesNoReply(f'Yes {self.calls}', 0.5, 0.25)


def find(text: str = 'the mug', seed: int = 0, **more: Any) -> LocateRequest:
    return LocateRequest(image(seed), Target(text, more.pop('form', Form.POINT)), **more)


PLACE = Region(Form.POINT, ((0.5, 0.5),))


def test_places_come_back_in_order_with_what_they_cost(tmp_path: Path) -> None:
    backend: Any = recording.recorded(Checking(), tmp_path / 'r.jsonl', images=True)
    asked = [find(), find(attempt=1), find(), find(form=Form.BOX), find(start=(0.1, 0.2)),
             find(seed=1), find(depth_m=np.ones((6, 8), np.float32))]
    checks = [CheckRequest(image(0), Target('the mug'), PLACE, mask, attempt)
              for mask in (None, np.ones((6, 8), bool)) for attempt in (0, 1)]
    backend.start_episode('e')
    said = [backend.locate(request) for request in asked]
    said += [check(backend, request) for request in checks]
    with pytest.raises(DeadlineError, match='too slow'):
        backend.locate(find('nothing'))
    spent = backend.usage
    backend.close()
    assert can_locate(backend) and len(set(map(repr, said))) == len(asked) + len(checks)
    again = replay(tmp_path / 'r.jsonl')
    again.start_episode('e')
    assert [again.locate(request) for request in asked] == said[:len(asked)]
    assert [check(again, request) for request in checks] == said[len(asked):]
    with pytest.raises(DeadlineError, match='too slow'):
        again.locate(find('nothing'))
    assert again.usage == spent
    for other in (CheckRequest(image(0), Target('the mug'), PLACE, np.zeros((6, 8), bool)),
                  CheckRequest(image(0), Target('the mug'), Region(Form.POINT, ((0.5, 0.6),)))):
        with pytest.raises(BackendError, match="whether a place is 'the mug'"):
            check(again, other)
    assert {path.stem for path in (tmp_path / 'images').iterdir()} == {
        recording.part_id(image(seed)) for seed in (0, 1)}


def test_what_was_not_asked_is_refused(tmp_path: Path) -> None:
    backend: Any = recording.recorded(Pointing(), tmp_path / 'r.jsonl')
    backend.start_episode('e')
    backend.locate(find())
    backend.close()
    again = replay(tmp_path / 'r.jsonl')
    again.start_episode('e')
    for request in (find('the pan'), find(attempt=1), find(form=Form.BOX), find(start=(0, 0)),
                    find(seed=1), find(depth_m=np.zeros((6, 8), np.float32))):
        with pytest.raises(BackendError, match='holds no reply to the request to find'):
            again.locate(request)
    again.locate(find())
    with pytest.raises(BackendError, match='less often'):
        again.locate(find())


def test_a_model_without_a_way_to_check_is_asked_a_question_in_replay_too(tmp_path: Path) -> None:
    backend: Any = recording.recorded(Pointing(), tmp_path / 'r.jsonl')
    picture = np.full((60, 80, 3), 90, np.uint8)
    request = CheckRequest(picture, Target('the mug'), PLACE)
    reply = check(backend, request)
    backend.close()
    assert [line['kind'] for line in lines(tmp_path / 'r.jsonl')] == [
        'recording', 'prompt', 'yes_no']
    assert check(replay(tmp_path / 'r.jsonl'), request) == reply


def test_replay_names_what_pointed_and_whether_it_writes(tmp_path: Path) -> None:
    class Own(Pointing):
        generates, locator_model = False, 'finger@2'

    backend: Any = recording.recorded(Own(), tmp_path / 'r.jsonl')
    assert backend.locator_model == 'finger@2'
    backend.locate(find())
    backend.close()
    again = replay(tmp_path / 'r.jsonl')
    assert (again.locator_model, again.generates) == ('finger@2', False)


def test_a_model_that_cannot_point_is_recorded_as_one_that_cannot(tmp_path: Path) -> None:
    backend: Any = recording.recorded(Counting(), tmp_path / 'r.jsonl')
    assert not can_locate(backend) and not hasattr(backend, 'check')
    backend.close()


@pytest.mark.parametrize(('field', 'value'), [
    ('regions', 3), ('regions', [{'form': 'dot', 'points': []}]), ('regions', ['x']),
    ('rounded', 'two'), ('probability', 'high'), ('unread', None), ('image', 3)])
def test_a_damaged_line_of_a_place_is_named(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / 'r.jsonl'
    backend: Any = recording.recorded(Pointing(), path)
    backend.locate(find())
    backend.close()
    header, line = lines(path)
    path.write_text(json.dumps(header) + '\n' + json.dumps({**line, field: value}) + '\n')
    with pytest.raises(InputError, match=r'r.jsonl:2: is not a line of a recording'):
        replay(path)


def test_detections_are_replayed(tmp_path: Path) -> None:
    class Finding(Counting):
        detects, detector_model = True, 'eyes@1'

        def detect(self, request: DetectRequest) -> DetectReply:
            self.calls += 1
            self._spend(1)
            return DetectReply((Detection(Region(Form.BOX, ((0.1, 0.2), (0.3, 0.4))),
                                          {'mug': 1 / (self.calls + 1)}, {'red': 0.5}, 0.9),
                                Detection(Region(Form.BOX, ((0.5, 0.2), (0.9, 0.4))),
                                          {'drawer:top': 1.0}, opened=0.25)))

    asked = [DetectRequest(image(1)), DetectRequest(image(1), attempt=1), DetectRequest(image(2))]
    backend = recording.recorded(Finding(), tmp_path / 'r.jsonl')
    said = [backend.detect(request) for request in asked]
    backend.close()
    again: Any = make_backend('replay', {'path': str(tmp_path / 'r.jsonl')})
    assert again.detects and again.detector_model == 'eyes@1'
    assert [again.detect(request) for request in asked] == said
    assert again.usage == Usage(3, 300, 3, pytest.approx(0.1 + 0.2 + 0.3))
    with pytest.raises(BackendError, match='find all things'):
        again.detect(DetectRequest(image(3)))


def test_choices_are_replayed_with_their_probabilities(tmp_path: Path) -> None:
    class Truth:
        def better(self, first: str, second: str) -> int:
            return 1 if first < second else -1

    path = tmp_path / 'replies.jsonl'
    backend = recording.recorded(make_backend('noisy_critic', {}, Truth()), path)
    asked = [ChoiceRequest(('Which?',), options, subjects, properties)
             for options in (('Path 1', 'Path 2'), ('ab12', 'cd34'))
             for subjects in (('a', 'b'), ('b', 'a'))
             for properties in ((), (('path_length', -1),))]
    backend.start_episode('one')
    said = [choose(backend, request) for request in asked]
    backend.close()

    again = make_backend('replay', {'path': str(path)})
    again.start_episode('one')
    assert [choose(again, request) for request in asked] == said
    assert all(reply.probabilities for reply in said)
    again.start_episode('one')
    with pytest.raises(BackendError, match='choice among Path 1, Path 2'):
        choose(again, ChoiceRequest(('Which one?',), ('Path 1', 'Path 2'), ('a', 'b')))


@pytest.mark.parametrize('in_words', [False, True])
def test_a_task_in_words_is_asked_about_in_replay_as_before(
        tmp_path: Path, in_words: bool) -> None:
    class Reader(Counting):
        answers_texts = not in_words

    path, once = tmp_path / 'replies.jsonl', WishSettings(wordings=1)
    plain = understand(Reader(), 'Be quick.', once)
    backend = recording.recorded(Reader(), path)
    said = understand(backend, 'Be quick.', once)
    backend.close()
    assert [line['kind'] for line in lines(path)][-1] == ('text' if in_words else 'yes_no')
    again = understand(replay(path), 'Be quick.', once)
    assert said == plain and again == said


def test_a_model_without_yes_no_answers_is_recorded_as_one(tmp_path: Path) -> None:
    class Chooser(Counting):
        answers = False

    backend = recording.recorded(Chooser(), tmp_path / 'replies.jsonl')
    assert not backend.answers and not backend.answers_texts
    backend.close()
