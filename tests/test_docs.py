"""The snippets in docs/ run, and what its pages link to is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sightplan_arm import gate

DOCS = Path(__file__).resolve().parent.parent / 'docs'
PAGES = sorted(DOCS.glob('*.md'))
SNIPPET = re.compile(r'```python\n(.*?)```', re.DOTALL)
SNIPPETS = [pytest.param(code, id=f'{page.name}:{number}') for page in PAGES
            for number, code in enumerate(SNIPPET.findall(page.read_text()))]

COMMANDS = {page.name: re.findall(r'```bash\n(.*?)```', page.read_text(), re.DOTALL)
            for page in PAGES if page.name in ('sweeps.md', 'real_robot.md')}
"""Bash blocks, of pages whose commands run anywhere and take seconds."""


@pytest.mark.parametrize('name', COMMANDS)
def test_commands_run_one_after_another(name, tmp_path):
    (tmp_path / 'config').symlink_to(DOCS.parent / 'config')
    (tmp_path / '.venv').symlink_to(DOCS.parent / '.venv')
    for block in COMMANDS[name]:
        done = subprocess.run(['bash', '-e', '-c', block], cwd=tmp_path, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_there_are_snippets():
    assert SNIPPETS


@pytest.mark.parametrize('code', SNIPPETS)
def test_a_snippet_runs(code):
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    for target in re.findall(r'\]\(([^)#]+)\)', page.read_text()):
        if '://' not in target:
            assert (page.parent / target).exists(), f'{page.name} links to {target}'


def test_the_table_of_causes_is_that_of_the_gate():
    rows = {line.split('|')[1].strip(' `'): [cell.strip() for cell in line.split('|')[2:5]]
            for line in (DOCS / 'safety.md').read_text().splitlines() if line.startswith('| `')}
    gate_table = re.findall(r'^(\w+) +(\S.*?)  +(.*)$', gate.__doc__.split('=\n')[2], re.MULTILINE)
    assert tuple(name for name, _, _ in gate_table) == gate.CAUSES
    for name, _, effects in gate_table:
        before, _, during = rows[name][0].partition('/')
        assert (before.strip() or '-', during.strip()) == _effects(effects), name
    assert set(gate.CAUSES) <= set(rows)


def _effects(text: str) -> tuple[str, str]:
    """What a cause does before and during a motion, as the gate's table has it."""
    before, _, during = text.partition(' ')
    return before, during.strip(' -')
