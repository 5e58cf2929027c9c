"""Tables and picture of the document about failures, from run directories."""

import io

import numpy as np
import pytest
from PIL import Image

import failures_study
from sightplan.metrics import wilson
from sightplan.runs import RunSettings, run
from sightplan_report.commands.failures import rules_table
from test_failures_cli import PictureWorld, decode_png, with_pictures

__all__ = ['with_pictures']


@pytest.fixture
def document(tmp_path):
    for folder, names in (('docs', ('rules',)), ('studies', ('runs', 'causes'))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'failures.md').write_text('by hand\n' + ''.join(
            f'<!-- table {name} -->\nold\n<!-- end -->\n' for name in names))
    return tmp_path / 'docs'


def test_the_document_is_regenerated_from_runs(document, with_pictures, tmp_path, capsys):
    done = run(RunSettings(method='ground', backend='noisy_oracle', episodes=2, max_actions=1,
                           backend_options={'table': 'perfect'}, out=str(tmp_path / 'short')),
               world=PictureWorld())
    study = document.parent / 'studies'
    assert failures_study.main([done['out'], '--out', str(document), '--study', str(study),
                                '--picture', done['out'], 'problem_16']) == 0
    assert '\nold\n' not in (document / 'failures.md').read_text()
    text = (study / 'failures.md').read_text()
    low, high = wilson(2, 2)
    assert text.startswith('by hand\n') and '\nold\n' not in text
    assert f'| `budget` | 2: 1.00 ({low:.2f}-{high:.2f}) |' in text
    assert '| A | `ground` | noisy_oracle(perfect' in text
    assert '| simple | 0 | 0 | 2 | 0 | 2 |' in text
    picture = document / 'failures' / 'example.png'
    assert picture.stat().st_size < 60_000 and decode_png(picture.read_bytes()).shape[1] == 480
    assert failures_study.main([done['out'], '--out', str(tmp_path / 'nowhere')]) == 2
    assert 'cannot be read' in capsys.readouterr().err


def test_without_runs_only_the_rules_are_written(document):
    study = document.parent / 'studies'
    assert failures_study.main(['--out', str(document), '--study', str(study)]) == 0
    assert rules_table() in (document / 'failures.md').read_text()
    assert (study / 'failures.md').read_text().count('\nold\n') == 2


def test_the_colours_of_blocks_survive_in_a_small_picture():
    image = np.random.default_rng(0).integers(100, 160, (300, 480, 3), np.uint8)
    image[100:130, 100:130] = (0, 73, 141)
    image[100:130, 200:230] = (112, 26, 118)
    png = io.BytesIO()
    Image.fromarray(image).save(png, 'png')
    small = decode_png(failures_study.for_document(png.getvalue()))
    for x, colour in ((115, (0, 73, 141)), (215, (112, 26, 118))):
        assert np.abs(small[115, x].astype(int) - colour).max() < 16
