"""What programs print that ask a running graph one thing."""

from __future__ import annotations

import json
import sys

import pytest

from sightplan.model import InputError
from sightplan_nodes.asking import answer_request

REFUSED = 'create_client() failed to create response DataReader'


@pytest.mark.parametrize(('error', 'keys', 'words', 'code', 'traceback'), [
    (InputError('no robot token-of-42-letters'), {}, 'no robot [key]', InputError.code, False),
    (RuntimeError('token-of-42-letters broke'), {}, 'probe: RuntimeError: [key] broke', 1, True),
    (RuntimeError(REFUSED), {}, f'probe: RuntimeError: {REFUSED}', 1, True),
    (RuntimeError(REFUSED), {'ROS_SECURITY_ENABLE': 'true'}, 'probe: its keys do not allow', 1,
     False)])
def test_an_error_is_an_answer(
        error: Exception, keys: dict[str, str], words: str, code: int, traceback: bool,
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def read(request: dict) -> object:
        assert request == {'text': 'a cup'}
        raise error
    monkeypatch.setenv('A_TOKEN', 'token-of-42-letters')
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, 'argv', ['probe', '{"text": "a cup"}'])
    assert answer_request('probe', read, pytest.fail, pytest.fail) == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert answer['error'].startswith(words) and answer['code'] == code
    assert ('Traceback' in err) is traceback and 'token-of' not in out + err
