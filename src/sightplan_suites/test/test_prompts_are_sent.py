"""``sightplan prompts`` prints what a server is sent, for every suite and method."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fake_openai import FakeServer, chat
from sightplan import cli
from sightplan.agent import answerer_class, answerer_names, method_names, needs_model
from sightplan.runs import RunSettings, load_suite, run, suite_names
from sightplan.runs.suite_rules import EPISODES, SAMPLES

pytest.importorskip('sightplan_sim.sliding.world')
_REPLY = 'Yes'
_MORE: dict[str, dict[str, Any]] = {
    'grounded_plan': {'method_options': {'reader': 'model'}},
    'set_of_marks': {'method_options': {'marks': 'embedded'}}}
"""Settings with which a method sends text."""
_SMALL = {'grounded_plan': {'count': 2}, 'predicates': {'count': 1}, 'point_it_out': {'count': 1}}
"""Options with which a suite makes few samples."""
_OWN = {'compare': 'patheval', 'votes': 'point_it_out', 'decoupled': 'grounded_plan',
        'set_of_marks': 'grounded_plan', 'grounded_plan': 'grounded_plan'}
"""Suite whose samples a method asks about in a way of its own; all others as ``ask`` does."""
_BELIEFS = ('decode', 'log_odds', 'three_valued')
"""Methods that ask as ``belief`` does."""


def _cases() -> list[Any]:
    """Every suite with each method that may ask its model in text, as settings of a run."""
    found = []
    for name in suite_names():
        suite = load_suite(name)
        methods = [one for one in answerer_names() if answerer_class(one).needs_model]
        if SAMPLES in suite.kinds:
            found += [(name, '', suite.splits[0], method) for method in methods]
        if EPISODES in suite.kinds:
            found += [(name, domain, rules.splits[0], method)
                      for domain, rules in suite.domains.items()
                      for method in method_names() if needs_model(method)]
    return [pytest.param(*case, id='-'.join(filter(None, case)),
                         marks=[pytest.mark.slow] if _is_slow(*case) else []) for case in found]


def _is_slow(suite: str, domain: str, split: str, method: str) -> bool:
    return (domain == 'household' or method in _BELIEFS or (
        not domain and _OWN.get(method, suite) != suite))


def _read(body: dict[str, Any]) -> tuple[str, ...]:
    """The texts of a logged request, in order; the size stands for a picture."""
    said = []
    for message in body['messages']:
        content = message['content']
        for part in [{'type': 'text', 'text': content}] if isinstance(content, str) else content:
            if part['type'] == 'text':
                said.append(f'{message["role"]}: {part["text"]}')
            else:
                data = base64.b64decode(part['image_url']['url'].partition(',')[2])
                said.append('picture {} x {}'.format(*Image.open(io.BytesIO(data)).size))
    return (*said, f'{body["max_tokens"]} tokens')


def _printed(request: dict[str, Any]) -> tuple[str, ...]:
    """The texts and picture sizes of a request that ``sightplan prompts`` prints."""
    return (*([f'system: {request["system"]}'] if request['system'] else []), *(
        f'user: {part}' if isinstance(part, str) else 'picture {} x {}'.format(*part['picture'])
        for part in request['user']), f'{request["max_tokens"]} tokens')


@pytest.mark.parametrize(('suite', 'domain', 'split', 'method'), _cases())
def test_what_is_printed_is_what_a_server_gets(
        suite: str, domain: str, split: str, method: str, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    more = {**_MORE.get(method, {}), **(
        {'suite_options': _SMALL[suite]} if suite in _SMALL and not domain else {})}
    arguments = ['prompts', *([domain] if domain else []), '--suite', suite, '--split', split,
                 '--method', method, '--reply', _REPLY, '--json']
    for kind, options in more.items():
        for key, value in options.items():
            arguments += [f'--{kind.removesuffix("s").replace("_", "-")}', f'{key}={value}']
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    if code:
        assert _OWN.get(method, suite) != suite or 'cannot read a goal from a picture' in err, err
        pytest.skip(err.strip().splitlines()[-1])
    printed = [_printed(one) for one in json.loads(out)['requests']]
    with FakeServer(lambda body, number: chat(_REPLY)) as server:
        run(RunSettings(
            suite=suite, domain=domain or 'blocksworld', split=split, method=method, episodes=1,
            backend='openai', out=str(tmp_path / 'run'), failure_images=False,
            backend_options={'base_url': server.url, 'model': 'any'}, **more),
            cancelled=lambda: len(server.bodies) >= len(printed))
    sent = [_read(body) for body in server.bodies][:len(printed)]
    assert printed and sorted(sent) == sorted(printed)


@pytest.mark.parametrize(('arguments', 'said'), [
    (['--suite', 'ivispar', '--method', 'ask'], 'begins with "Solution: "'),
    (['sliding', '--method', 'action'], 'action: move COLOUR SHAPE DIRECTION'),
    (['tabletop', '--method', 'grounded_plan', '--method-option', 'reader=model'],
     'Box everything on the table')])
def test_what_is_not_given_is_as_a_person_would_mean_it(
        arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(['prompts', *arguments]) == 0
    assert said in capsys.readouterr().out
