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
