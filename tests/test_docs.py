"""The snippets in docs/ run, and what its pages link to is there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import test_readme
from sightplan import cli
from sightplan_arm import gate

DOCS = Path(__file__).resolve().parent.parent / 'docs'
PAGES = sorted(DOCS.glob('*.md'))
STUDIES = sorted((DOCS.parent / 'studies').glob('*.md'))
SNIPPET = re.compile(r'```python\n(.*?)```', re.DOTALL)
SNIPPETS = [pytest.param(code, id=f'{page.name}:{number}') for page in PAGES
            for number, code in enumerate(SNIPPET.findall(page.read_text()))]

COMMANDS = {page.name: blocks for page in PAGES if (blocks := re.findall(
    r'```bash\n(.venv/bin/.*?)```', page.read_text(), re.DOTALL))}
"""Bash blocks by page: commands that run in any folder, each block after those before it."""
ELSEWHERE = set(test_readme.COMMANDS)
"""Commands of the README, which has a test of its own."""

ROOT = DOCS.parent


def test_there_are_commands():
    assert {'index.md', 'sweeps.md', 'real_robot.md', 'arm.md'} <= COMMANDS.keys()


@pytest.mark.slow
@pytest.mark.parametrize('name', COMMANDS)
def test_commands_run_one_after_another(name, tmp_path):
    for folder in ('config', 'examples'):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / '.venv').symlink_to(ROOT / '.venv')
    for block in COMMANDS[name]:
        block = '\n'.join(line for line in block.splitlines() if line not in ELSEWHERE)
        done = subprocess.run(['bash', '-e', '-c', block], cwd=tmp_path, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


WRITTEN = re.compile(r'^```\w*\n(.*?)^```|((?:^ {4}.*\n)+)|`(sightplan [a-z][^`]*)`',
                     re.DOTALL | re.MULTILINE)
"""Blocks of code, and commands within a line."""


def commands_of(text):
    """Commands of sightplan that a page writes, without what is meant as a placeholder."""
    for fenced, indented, inline in WRITTEN.findall(text):
        block = (fenced or indented or ' '.join(inline.split())).replace('\\\n', ' ')
        for part in re.split(r'\n| && | \|\|? |; ', block):
            found = re.match(r'\s*(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?sightplan ([a-z].*)', part)
            if found and found[1].count('"') % 2 == found[1].count("'") % 2 == 0:
                words = shlex.split(found[1].replace('[', '').replace(']', ''), comments=True)
                yield [word for word in words if word not in ('...', '…', '&')]


def unknown_flags(words, capsys):
    """What a command says of flags that it does not know; '' if it knows all."""
    try:
        parser = cli.make_parser(words)
        _, left = parser.parse_known_args(words)
    except SystemExit:  # placeholders, or arguments that are left out
        left = []
    capsys.readouterr()
    return ' '.join(one for one in left if one.startswith('-'))


def test_flags_of_written_commands_are_known(capsys):
    seen = 0
    for page in (DOCS.parent / 'README.md', *PAGES, *STUDIES,
                 *sorted((DOCS.parent / 'src').rglob('README.md'))):
        for words in commands_of(page.read_text()):
            seen += 1
            assert not unknown_flags(words, capsys), (page, words)
    assert seen > 500


SWEEPS = re.findall(r'^sightplan (sweep viplan .*)$',
                    (DOCS / 'reproduce_viplan.md').read_text(), re.MULTILINE)
"""Sweeps of the page on ViPlan: they need a server, but for their estimate."""


@pytest.mark.slow
@pytest.mark.parametrize('command', SWEEPS)
def test_sweeps_of_viplan_are_estimated_without_a_server(command, tmp_path):
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan.cli', *shlex.split(command), '--dry-run', '--json'],
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result['episodes'] == (96 if '--episodes 2' in command else 1200)


def test_the_page_on_viplan_has_a_trial_and_the_whole():
    assert [('--episodes' in command, '--protocol' in command) for command in SWEEPS] == [
        (True, False), (False, True)]


@pytest.mark.slow
def test_the_site_is_made_and_loads_nothing_from_elsewhere(tmp_path):
    """Strictly: a link to what is not there fails."""
    done = subprocess.run(
        [sys.executable, '-m', 'mkdocs', 'build', '--site-dir', str(tmp_path / 'site')], cwd=ROOT,
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / 'site').rglob('*.html'))
    assert {page.name for page in pages} >= {f'{page.stem}.html' for page in PAGES}
    loaded = re.compile(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|'
                        r'<link(?![^>]* rel="canonical")[^>]* href="(?:https?:)?//')
    assert [page.name for page in pages if loaded.search(page.read_text())] == []
    graph = (tmp_path / 'site' / 'repository' / 'config' / 'graphs' / 'experiment.yaml.html')
    assert 'metrics_recorder' in graph.read_text(), 'files outside docs/ have a page'


def test_the_picture_of_the_graph_has_its_nodes():
    nodes = yaml.safe_load((ROOT / 'config' / 'graphs' / 'experiment.yaml').read_text())['nodes']
    picture = (DOCS / 'images' / 'graph.svg').read_text()
    names = {node['name'] for node in nodes} - {'rerun_viewer'}
    assert len(names) > 6
    assert [name for name in sorted(names) if name not in picture] == []


def test_there_are_snippets():
    assert SNIPPETS


@pytest.mark.slow
@pytest.mark.parametrize('code', SNIPPETS)
def test_a_snippet_runs(code):
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize('page', [*PAGES, *STUDIES], ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    for target in re.findall(r'\]\(([^)#]+)\)', page.read_text()):
        if '://' not in target:
            assert (page.parent / target).exists(), f'{page.name} links to {target}'


def test_python_files_that_pages_name_exist():
    held = [path for top in ('docs', 'docker', 'examples', 'src', 'studies', 'tests', 'training')
            for path in (ROOT / top).rglob('*.*')]
    files = {path.as_posix() for path in held if path.suffix == '.py'}
    named = {(page.relative_to(ROOT), name)
             for page in [*held, *ROOT.glob('*.md')] if page.suffix == '.md'
             for name in re.findall(r'`([\w/]+/\w+\.py)`', page.read_text('utf-8'))}
    missing = {(page, name) for page, name in named
               if not any(file.endswith('/' + name) for file in files)}
    assert len(named) > 30 and not missing


def test_the_navigation_of_the_site_leads_to_files():
    named = re.findall(r'(\S+\.md)$', (ROOT / 'mkdocs.yml').read_text(), re.MULTILINE)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name.removeprefix('repository/') if
            name.startswith('repository/') else DOCS / name).is_file()] == []


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
