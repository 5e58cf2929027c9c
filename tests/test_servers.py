"""What listens on a socket is known, and listens to this machine alone."""

from __future__ import annotations

import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTENS = re.compile(r'\.bind\(\(|\.listen\(|\bTCPServer\b|\bHTTPServer\b|ThreadingHTTPServer'
                     r'|start_server|create_server|make_server|socketserver|\baiohttp\b|uvicorn'
                     r'|\bflask\b|serve_grpc|serve_web')
KNOWN = {
    'sightplan_report/labelling/local_page.py': 'the pages: LocalServer',
    'sightplan/graphs/up.py': 'holds the port that reserves a ROS domain, and answers nobody',
    'sightplan_models/serve.py': '"sightplan serve": another address needs a token',
    'sightplan_bench/hostile/replies.py': 'a model that answers nonsense, for the benchmark',
}


@functools.cache
def listeners() -> dict[str, str]:
    """Sources of the packages with a word of servers in them, from the package on."""
    found = {}
    for package in (ROOT / 'src').iterdir():
        for file in (package / package.name).rglob('*.py'):
            text = file.read_text('utf-8')
            if LISTENS.search(text):
                found[str(file.relative_to(package))] = text
    return found


def test_nothing_listens_but_what_is_known() -> None:
    assert listeners().keys() == KNOWN.keys()


def test_what_listens_names_the_loopback_device() -> None:
    for name, text in listeners().items():
        assert "'127.0.0.1'" in text, name
        assert not re.search(r'0\.0\.0\.0|[\'"]::[\'"]|INADDR_ANY', text), name


def test_documented_servers_name_the_loopback_device() -> None:
    """Those of others listen to the whole network unless they are told otherwise."""
    for file in (*(ROOT / 'docs').rglob('*.md'), ROOT / 'README.md'):
        for line in file.read_text('utf-8').splitlines():
            if re.match(r'\S*( \S+)* ?(ros2 launch foxglove_bridge|.*http\.server)', line):
                assert '127.0.0.1' in line, f'{file.name}: {line}'
