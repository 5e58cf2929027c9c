"""The snippets in docs/ run, and what its pages link to is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / 'docs'
PAGES = sorted(DOCS.glob('*.md'))
SNIPPET = re.compile(r'```python\n(.*?)```', re.DOTALL)
SNIPPETS = [pytest.param(code, id=f'{page.name}:{number}') for page in PAGES
            for number, code in enumerate(SNIPPET.findall(page.read_text()))]

COMMANDS = {page.name: re.findall(r'```bash\n(.*?)```', page.read_text(), re.DOTALL)
            for page in PAGES if page.name in ('sweeps.md',)}
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
