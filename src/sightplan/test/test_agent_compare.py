"""The answerer ``compare`` in a run: both orders, names, recordings, and all other samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sightplan.model import InputError
from sightplan.runs import RunSettings, run

COUNT = 20


def _lines(out: Path, method: str = 'compare', options: dict[str, Any] | None = None,
           backend: dict[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    run(RunSettings(suite='patheval', split='test', method=method, method_options=options or {},
                    backend=more.pop('backend_name', 'noisy_critic'), out=str(out),
                    backend_options={'table': 'gpt-4o-mini', **(backend or {})},
                    episodes=more.pop('episodes', COUNT), **more))
    return [json.loads(line) for line in (out / 'episodes.jsonl').read_text().splitlines()]


def _said(lines: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(line['id'], line['answer']['strict'] if line['answer'] else None) for line in lines]


@pytest.mark.parametrize('names', ['given', 'neutral'])
def test_what_is_chosen_does_not_depend_on_which_is_shown_first(tmp_path: Path,
                                                                names: str) -> None:
    usual = _lines(tmp_path / 'a', options={'names': names})
    flipped = _lines(tmp_path / 'b', options={'names': names},
                     suite_options={'variant': 'flipped'})

    assert [(name, 1 - choice) for name, choice in _said(usual)] == _said(flipped)
    assert [line['p_right'] for line in usual] == pytest.approx(
        [line['p_right'] for line in flipped])
    assert 0 < sum(line['measures']['first'] for line in usual) < COUNT


def test_one_order_is_biased_as_the_model_is(tmp_path: Path) -> None:
    lines = _lines(tmp_path / 'a', options={'orders': 'one', 'names': 'given'})

    assert sum(line['measures']['first'] for line in lines) < COUNT / 4
    assert _said(lines) == _said(_lines(tmp_path / 'b', method='ask'))


def test_a_run_is_replayed_from_its_recording(tmp_path: Path) -> None:
    first = _lines(tmp_path / 'a', record=True, episodes=10)
    run(RunSettings(suite='patheval', split='test', method='compare', backend='replay',
                    backend_options={'path': str(tmp_path / 'a')}, out=str(tmp_path / 'b'),
                    episodes=10))
    again = [json.loads(line) for line in
             (tmp_path / 'b' / 'episodes.jsonl').read_text().splitlines()]

    assert _said(first) == _said(again)
    assert [line['p_right'] for line in first] == [line['p_right'] for line in again]


def test_several_choices_in_one_sample_are_asked_as_they_are(tmp_path: Path) -> None:
    lines = _lines(tmp_path / 'a', episodes=6, suite_options={'variant': 'perception'})

    assert all(line['measures']['perceived'] is not None for line in lines)


def test_a_model_that_cannot_choose_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='choos'):
        run(RunSettings(suite='patheval', split='test', method='compare', backend='noisy_oracle',
                        out=str(tmp_path / 'a'), episodes=2))
