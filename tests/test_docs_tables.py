"""Pages on models and performance: complete, up to date, and every command is one."""

import re
import shlex

import pytest

import docs_tables
from docs_tables import backend, command, entries, fits, results, weights_gib
from sightplan import cli
from sightplan.commands import run as run_cli
from sightplan.commands.flags import settings_of
from study_document import DOCS, STUDIES, fill, names_of

ENTRIES = {entry['name']: entry for entry in entries()}
PAGES = (DOCS / 'models.md', DOCS / 'performance.md', STUDIES / 'performance.md')
BLOCKS = {page: re.findall(r'```(?:text|bash)\n(.*?)```', page.read_text(), re.DOTALL)
          for page in PAGES}
COMMANDS = [pytest.param(line, id=f'{page.relative_to(DOCS.parent)}:{number}')
            for page, blocks in BLOCKS.items() for number, line in enumerate(
                line for block in blocks for line in block.splitlines()
                if re.match(r'(\S*/)?sightplan ', line))]


def test_the_papers_models_are_all_there():
    local = [entry for entry in ENTRIES.values() if entry['type'] is not None]
    assert (len(local), len(ENTRIES)) == (21, 24)
    assert len({entry['paper'] for entry in ENTRIES.values()}) == 24


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_the_tables_are_up_to_date(page):
    text, parts = page.read_text(), docs_tables.pages()[page]
    assert names_of(text) == list(parts)
    assert fill(text, parts, page.name) == text, 'run "python studies/docs_tables.py"'


@pytest.mark.parametrize('name', results())
def test_recorded_results_may_be_used(name):
    from sightplan_bench.grounding import failures
    run = results()[name]
    assert run['bench'] == 'grounding' and run['commit']
    assert not failures(run)
    assert all('/' not in str(value) for value in run['device'].values())


@pytest.mark.parametrize('name', [n for n, e in ENTRIES.items() if backend(e) == 'transformers'])
def test_what_is_said_to_be_tried_is(name):
    assert docs_tables.architecture(ENTRIES[name]) in docs_tables.tested()


def test_there_are_commands():
    assert sum(param.id.startswith('docs/models.md') for param in COMMANDS) >= 24
    assert any('bench grounding --device cuda' in param.values[0] for param in COMMANDS)


@pytest.mark.parametrize('line', COMMANDS)
def test_every_command_and_every_option_in_it_exist(line):
    words = shlex.split(line, comments=True)
    arguments = settings_of(cli.make_parser().parse_args(words[1:]))
    if words[1] == 'run':
        run_cli.settings_from(arguments)  # raises if the backend lacks an option


@pytest.mark.parametrize('name', ENTRIES)
def test_a_models_command_names_its_backend_and_model(name):
    entry = ENTRIES[name]
    settings = run_cli.settings_from(settings_of(
        cli.make_parser().parse_args(shlex.split(command(entry))[1:])))
    assert settings.backend == backend(entry)
    assert settings.backend_options['model'] in (entry['run'], entry.get('served_as'))


@pytest.mark.parametrize('name', [n for n, e in ENTRIES.items() if e['type'] is not None])
def test_transformers_has_what_is_said_to_run_in_it_and_lacks_what_is_not(name):
    names = pytest.importorskip(
        'transformers.models.auto.modeling_auto').MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    entry = ENTRIES[name]
    assert (entry['type'] in names) == (backend(entry) == 'transformers')


@pytest.mark.parametrize(('gib', 'cards'), [
    (15.4, '24 GB'), (22, '48 GB'), (45, '80 GB'), (62, '80 GB'), (100, '141 GB'),
    (137, '2 x 80 GB'), (147, '4 x 80 GB')])
def test_what_holds_a_model(gib, cards):
    assert fits(gib) == cards


def test_weights_are_two_bytes_a_parameter():
    assert weights_gib({'parameters': 8.0}) == pytest.approx(14.9, abs=0.01)
