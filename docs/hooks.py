"""Hook of mkdocs: what pages link to outside of docs/ becomes part of the site.

Pages link to files of the repository where they lie, so that their links work wherever the
repository is read. In the site each such file has a page under ``repository/``: Markdown as it is,
other text as a listing, a folder as its README or as the list of its files. Pictures are copied.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
LINK = re.compile(r'(?<=\]\()([^)\s#]+)(?=(?:#[^)\s]*)?\))')
PICTURES = ('.png', '.svg', '.jpg')
LANGUAGES = {'.py': 'python', '.yaml': 'yaml', '.json': 'json', '.pddl': 'lisp', '.xml': 'xml'}


def linked(source: Path, target: str) -> Path | None:
    """The file or folder of the repository that a link of a Markdown file leads to, if any."""
    if '://' in target or target.startswith('mailto:'):
        return None
    path = (source.parent / target).resolve()
    if path.is_dir() and (path / 'README.md').is_file():
        path /= 'README.md'
    return path if path.is_relative_to(ROOT) and path.exists() else None


def address(path: Path) -> str:
    """Address in the site's sources of the page of a file or folder, or of the file itself."""
    if path.is_relative_to(DOCS) and path.suffix in ('.md', *PICTURES):
        return path.relative_to(DOCS).as_posix()
    if path.is_dir():
        path /= 'index.md'
    elif path.suffix not in ('.md', *PICTURES):
        path = path.with_name(f'{path.name}.md')
    return f'repository/{path.relative_to(ROOT).as_posix()}'


def text_of(path: Path) -> str:
    """The page of a file that is no Markdown, or of a folder without a README."""
    title = f'# `{path.relative_to(ROOT).as_posix()}`\n\n'
    if path.is_dir():
        return title + ''.join(f'- [`{file.name}`]({file.name})\n'
                               for file in sorted(path.iterdir()) if file.is_file())
    fence = '`' * 6
    return f'{title}{fence}{LANGUAGES.get(path.suffix, "text")}\n{path.read_text()}\n{fence}\n'


class Repository:
    """The pages of files outside docs/, and which file each Markdown page was read from."""

    def __init__(self) -> None:
        self.sources: dict[str, Path] = {}

    def add(self, files: Files, config: MkDocsConfig) -> None:
        """Add all files that pages link to, directly or through other files."""
        waiting = [DOCS / file.src_uri for file in files.documentation_pages()]
        self.sources = {address(path): path for path in waiting}
        while waiting:
            source = waiting.pop()
            text = source.read_text() if source.is_file() else text_of(source)
            base = source if source.is_file() else source / 'index.md'
            for path in filter(None, (linked(base, target) for target in LINK.findall(text))):
                uri = address(path)
                if files.get_file_from_path(uri) is not None:
                    continue
                if path.suffix in PICTURES:
                    files.append(File.generated(config, uri, abs_src_path=str(path)))
                    continue
                whole = path.suffix == '.md'
                files.append(File.generated(
                    config, uri, content=path.read_text() if whole else text_of(path)))
                if whole or path.is_dir():
                    self.sources[uri] = path if whole else path / 'index.md'
                    waiting.append(path)

    def relinked(self, markdown: str, uri: str) -> str:
        """A page's text, its links leading to where the site has what they mean."""
        source = self.sources.get(uri)
        if source is None:
            return markdown

        def relink(found: re.Match[str]) -> str:
            path = linked(source, found[0])
            if path is None:
                return found[0]
            return Path(os.path.relpath(address(path), Path(uri).parent)).as_posix()
        return LINK.sub(relink, markdown)


_repository = Repository()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by mkdocs when it has found the files in docs/."""
    _repository.add(files, config)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    return _repository.relinked(markdown, page.file.src_uri)
