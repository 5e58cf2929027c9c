"""A kind of query of one's own, in one file outside our packages: how many things there are.

A method asks it, a script answers it, it is recorded and replayed, simulated with errors, and a
report shows it; no file of ours knows it.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import re
import sys
import types
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from sightplan import cli
from sightplan.agent import AnswererBase, Context
from sightplan.model import Atom, InputError
from sightplan.model.query import (
    Chat,
    Draws,
    Query,
    Reply,
    Rgb,
    ask_one,
    can_ask,
)
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.model.settings import NoSettings
from sightplan.queries import Generate
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan.vlm import make_backend
from sightplan.vlm.api import backends_that_answer, check_backend
from sightplan_suites.predicates import samples as predicates


@dataclass(frozen=True, slots=True)
class CountReply(Reply):
    count: int | None = None
    text: str = ''

    def summary(self) -> str:
        return self.text or f'{self.count} of them'


@dataclass(frozen=True, eq=False)
class Count(Query[CountReply]):
    image: Rgb
    what: str

    kind: ClassVar[str] = 'count'
    reply_type: ClassVar[type[Reply]] = CountReply

    def as_chat(self, style: Any) -> Chat[CountReply]:
        return Chat(Generate('', (self.image, f'How many {self.what} are there?')),
                    lambda reply: _read(reply.text))

    def true_reply(self, truth: Any) -> CountReply:
        return CountReply(len({atom.args[0] for atom in truth.state() if atom.args}))

    def wrong_reply(self, truth: Any, draw: Draws) -> CountReply:
        right = self.true_reply(truth).count or 0
        return CountReply(right + (1 if draw('side') < 0.5 else -1))


def _read(text: str) -> CountReply:
    found = re.search(r'\d+', text)
    return CountReply(int(found[0]) if found else None, text)


class Answerer(AnswererBase):
    """Counts blocks, and says yes where there are at least three."""

    def __init__(self, settings: Any) -> None:
        """Take no settings."""

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        replies = []
        for sample in samples:
            picture = next(part for part in sample.parts if isinstance(part, Picture))
            reply = ask_one(context.asking(sample), Count(picture.load(), 'blocks'))
            replies.append(SampleReply(f'{"Yes" if (reply.count or 0) > 2 else "No"}, I see '
                                       f'{reply.summary()}'))
        return replies


IMAGE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)


@pytest.fixture(autouse=True)
def method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package has the method ``counts``."""
    module = types.ModuleType('counts_of_a_test')
    module.Settings, module.Answerer = NoSettings, Answerer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    point = importlib.metadata.EntryPoint('counts', module.__name__, 'sightplan.methods')
    ours = importlib.metadata.entry_points

    def found(**wanted: str) -> Any:
        return [*ours(**wanted), *([point] if wanted == {'group': point.group} else [])]
    monkeypatch.setattr(importlib.metadata, 'entry_points', found)


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('predicates') / 'data'
    predicates.generate(folder, 1, 3)
    return folder


def script(folder: Path, **sections: Any) -> dict[str, Any]:
    path = folder / 'script.json'
    path.write_text(json.dumps({'repeat': 'last', **sections}))
    return {'script': str(path)}


def go(data: Path, out: Path, backend: str, options: dict[str, Any], **more: Any,
       ) -> list[dict[str, Any]]:
    run(RunSettings(suite='predicates', method='counts', backend=backend, out=str(out),
                    backend_options=options, suite_options={'data': str(data)}, **more))
    return RunStore(out).lines()


def replies(lines: list[dict[str, Any]]) -> list[str]:
    return [line['reply'] for line in lines]


def test_a_script_answers_it_with_data_or_in_words(tmp_path: Path) -> None:
    model = make_backend('scripted', script(tmp_path, kinds={
        'count': [{'count': 3}, 'There are 4.']}))
    assert ask_one(model, Count(IMAGE, 'cubes')) == CountReply(3)
    assert ask_one(model, Count(IMAGE, 'cubes')) == CountReply(4, 'There are 4.')
    chat = make_backend('scripted', script(tmp_path, replies=['I count 5.']))
    assert can_ask(chat, Count) and ask_one(chat, Count(IMAGE, 'cubes')).count == 5


def test_it_is_told_apart_by_all_that_is_shown_and_written_as_json() -> None:
    query = Count(IMAGE, 'cubes')
    assert len({query.key, Count(IMAGE, 'balls').key, Count(IMAGE[::-1], 'cubes').key}) == 3
    again = Query.from_json(json.loads(json.dumps(query.to_json())), lambda name: IMAGE)
    assert isinstance(again, Count) and again.key == query.key
    assert CountReply.from_json(CountReply(3, 'x').to_json()) == CountReply(3, 'x')


def test_a_method_asks_it_and_it_is_recorded_replayed_and_reported(
        data: Path, tmp_path: Path) -> None:
    options = script(tmp_path, kinds={'count': ['There are 4.']})
    first = go(data, tmp_path / 'first', 'scripted', options, record=True)
    assert {*replies(first)} == {'Yes, I see There are 4.'} and first[0]['answer'] == 'yes'
    lines = [json.loads(line) for line in
             (tmp_path / 'first' / 'replies.jsonl').read_text().splitlines()]
    asked = [line for line in lines if line.get('query') == 'count']
    assert len(asked) == len(first) and asked[0]['reply'] == {'count': 4, 'text': 'There are 4.'}
    again = go(data, tmp_path / 'again', 'replay', {'path': str(tmp_path / 'first')})
    assert replies(again) == replies(first)
    out = tmp_path / 'report'
    assert cli.main(['report', str(tmp_path / 'first'), '--export', 'inspect',
                     '--out', str(out)]) == 0
    with zipfile.ZipFile(next(out.rglob('*.eval'))) as log:
        assert any(b'I see There are 4.' in log.read(name) for name in log.namelist())


def test_it_is_simulated_with_errors_at_a_rate(data: Path, tmp_path: Path) -> None:
    class Truth:
        def state(self, stamp_ns: int | None = None) -> frozenset[Atom]:
            return frozenset(Atom('incolumn', (block, 'c1')) for block in 'rgb')

    model = make_backend('simulated', {'error': 0.25, 'seed': 1}, Truth())
    said = [ask_one(model, Count(np.full((4, 4, 3), number, np.uint8), 'cubes')).count
            for number in range(200)]
    assert {*said} == {2, 3, 4} and said.count(3) == pytest.approx(150, abs=30)
    assert ask_one(model, Count(IMAGE, 'cubes')) == ask_one(model, Count(IMAGE, 'cubes'))
    perfect, wrong = (go(data, tmp_path / str(error), 'simulated', {'error': error})
                      for error in (0.0, 1.0))
    assert all(one != other for one, other in zip(replies(perfect), replies(wrong), strict=True))


def test_a_backend_that_cannot_answer_it_is_refused_in_the_words_of_the_kind(
        monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="'embedded' answers no queries of kind 'count'; choose"):
        check_backend('embedded', Count)
    monkeypatch.setattr(Count, 'cannot_answer', 'cannot count')
    with pytest.raises(InputError, match="'embedded' cannot count; choose one that can: .*openai"):
        check_backend('embedded', Count)


def test_the_simulated_backend_is_among_those_that_answer_it() -> None:
    assert 'simulated' in backends_that_answer(Count)
    assert 'simulated' not in backends_that_answer(Generate), 'no truth is known about it'
    check_backend('simulated', Count)


def test_a_kind_without_a_prompt_says_what_to_do(tmp_path: Path) -> None:
    @dataclasses.dataclass(frozen=True, eq=False)
    class Smell(Query[CountReply]):
        kind: ClassVar[str] = 'smell'
        reply_type: ClassVar[type[Reply]] = CountReply

    model = make_backend('scripted', script(tmp_path, replies=['x']))
    with pytest.raises(Exception, match="cannot be asked a query of kind 'smell'"):
        ask_one(model, Smell())
