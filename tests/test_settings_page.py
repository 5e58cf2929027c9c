"""docs/settings.md: up to date, and no setting is left out."""

import ast
from pathlib import Path

import settings_page

SOURCES = Path(__file__).resolve().parents[1] / 'src'


def test_the_page_is_up_to_date():
    assert settings_page.page() == settings_page.PAGE.read_text('utf-8'), (
        'run "python studies/settings_page.py"')


def test_every_setting_that_a_source_declares_is_on_the_page():
    """Read from the sources, not by importing: a module that is forgotten would not be missed."""
    sections, declared = settings_page.PAGE.read_text('utf-8').split('\n### '), 0
    for package in settings_page.PACKAGES:
        for path in sorted((SOURCES / package / package).rglob('*.py')):
            module = '.'.join(path.relative_to(SOURCES / package).with_suffix('').parts)
            text = path.read_text('utf-8')
            for node in ast.walk(ast.parse(text)) if 'param(' in text else ():
                if not isinstance(node, ast.ClassDef):
                    continue
                for field in node.body:
                    if (isinstance(field, ast.AnnAssign) and isinstance(field.value, ast.Call)
                            and getattr(field.value.func, 'id', '') == 'param'):
                        declared += 1
                        assert any(f'`{module}`.' in one and f'| `{field.target.id}` |' in one
                                   for one in sections), (path, field.target.id)
    assert declared > 300
