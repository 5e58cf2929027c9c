"""Pictures that the shipped networks were not made for: nothing is told about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightplan.cli import main
from sightplan.model import Atom, BackendError, Observation, Question, Target
from sightplan.model.perception import Verdict
from sightplan.model.query import ask_one
from sightplan.model.whereabouts import UNLIKE
from sightplan.queries import Choose, Detect, Locate, YesNo

torch = pytest.importorskip('torch')
from sightplan_models._embedded_world import Features, PictureClassifier  # noqa: E402
from sightplan_models._locator_network import Network, Shape, load_weights  # noqa: E402
from sightplan_models._locator_pictures import channels  # noqa: E402
from sightplan_models._unlike import FOLDER, SHIPPED, foreign_by  # noqa: E402
from sightplan_models.embedded import Backend, Settings, content  # noqa: E402

DOCS = Path(__file__).parents[3] / 'docs' / 'images'
NETWORKS = ('locator', 'detector', 'blocksworld', 'household', 'paths', 'sliding')


def foreign(image: np.ndarray, network: str) -> float:
    tell = foreign_by(SHIPPED / network)
    assert tell is not None
    return tell(image)


def portrait() -> Path:
    """A photograph that matplotlib ships (public domain)."""
    matplotlib = pytest.importorskip('matplotlib')
    return Path(matplotlib.get_data_path()) / 'sample_data' / 'grace_hopper.jpg'


@pytest.fixture(scope='module')
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cup on a saucer, painted with soft edges and grain as in a photograph."""
    y, x = np.mgrid[0:400, 0:600].astype(float)
    ground = 120 + 40 * np.sin(x / 37) * np.cos(y / 53)
    ring = np.exp(-((np.hypot((x - 300) / 1.4, y - 210) - 90) / 14) ** 2)
    coffee = np.hypot((x - 300) / 1.4, y - 210) < 78
    light = np.where(coffee, 60, ground) + 110 * ring
    grain = np.random.default_rng(0).normal(0, 9, (400, 600, 3))
    path = tmp_path_factory.mktemp('cup') / 'cup.png'
    Image.fromarray((light[..., None] * (1.0, 0.85, 0.7) + grain).clip(0, 255).astype(
        np.uint8)).save(path)
    return path


def photograph() -> np.ndarray:
    return rgb(portrait())


def rgb(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert('RGB'))


@pytest.mark.parametrize('network', NETWORKS)
def test_a_photograph_noise_and_a_plain_picture_are_foreign(network: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (300, 400, 3), np.uint8)
    for image in (photograph(), noise, np.full((480, 640, 3), 200, np.uint8)):
        assert foreign(image, network) > 0.8


def test_pictures_of_the_documentation_belong_to_whom_they_were_made_for() -> None:
    blocks, table = rgb(DOCS / 'blocks.png'), rgb(DOCS / 'pointing.png')
    for network in NETWORKS:
        assert (foreign(blocks, network) < 0.1) == (network in ('locator', 'blocksworld'))
        assert (foreign(table, network) < 0.1) == (network in ('locator', 'detector'))
    assert foreign(blocks[::2, ::2], 'locator') < 0.1


def test_nothing_is_told_of_a_photograph() -> None:
    image, backend = photograph(), Backend(Settings(domain='blocksworld'))
    located = ask_one(backend, Locate(image, Target('the unicorn')))
    assert located.foreign > 0.9 and UNLIKE in located.summary()
    assert ask_one(backend, Detect(image)).cannot_tell == UNLIKE
    choice = ask_one(backend, Choose((image, 'Which?'), ('Path 1', 'Path 2'), (),
                                     (('path_length', -1),)))
    assert choice.cannot_tell == UNLIKE and choice.chosen is None


def test_of_a_photograph_no_place_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    things = 'the unicorn', 'the elephant', 'the black hat'
    assert main(['locate', str(portrait()), *things, '--json']) == 0
    for thing in json.loads(capsys.readouterr().out)['found']:
        assert (thing['answer'], thing['reason']) == ('cannot tell', UNLIKE)
        assert not thing['sure'] and thing['regions'] == []


@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_of_a_photograph_no_question_is_answered(
        domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = {'blocksworld': 'Is the red block on the green block?',
                'household': 'Is the bowl in the fridge?'}[domain]
    assert main(['ask', str(portrait()), '--domain', domain, '--question', question]) == 0
    assert capsys.readouterr().out.startswith(f'cannot tell: {UNLIKE}\n')
    assert main(['ask', str(portrait()), '--domain', domain, '--question', question,
                 '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found['answer'], found['reason'], found['p_yes']) == ('unknown', UNLIKE, None)


def test_of_a_photograph_no_state_is_believed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['ask', str(portrait()), '--domain', 'blocksworld',
                 '--objects', 'red:block,green:block,c1:column,c2:column']) == 0
    assert capsys.readouterr().out == f'cannot tell: {UNLIKE}\n'


def test_what_is_no_question_of_the_domain_is_refused_of_any_picture(
        capsys: pytest.CaptureFixture[str]) -> None:
    for question in ('Is there an elephant?', 'xyzzy?'):
        assert main(['ask', str(portrait()), '--question', question]) == 2
        said = capsys.readouterr()
        assert not said.out and 'It knows on, incolumn, clear' in said.err


def test_of_a_cup_and_a_portrait_none_shows_the_best_path(
        cup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['paths', 'compare', '--pictures', str(cup), str(portrait()), '--vector',
                 'path_length=-1', '--backend', 'embedded']) == 0
    out = capsys.readouterr().out
    assert f'It cannot be told which path is the best: {UNLIKE}.' in out
    assert 'with probability' not in out


def test_own_pictures_are_answered() -> None:
    told = ask_one(Backend(Settings(domain='blocksworld')), YesNo(
        Observation(image=rgb(DOCS / 'blocks.png')),
        Question(Atom('probe'), 'Is the red block on top of the green block?')))
    assert told.verdict in (Verdict.YES, Verdict.NO)
    assert ask_one(Backend(Settings()), Detect(rgb(DOCS / 'pointing.png'))).detections


def test_names_tell_the_classifier_and_other_folders_have_none(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / 'locator', tmp_path / 'locator')
    own = Settings(locator_dir=str(tmp_path / 'locator'))
    assert content(own, Locate) != content(Settings(), Locate)
    assert ask_one(Backend(own), Locate(photograph(), Target('the cup'))).foreign is None


def test_a_classifier_of_other_layers_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / FOLDER, tmp_path / FOLDER)
    settings = tmp_path / FOLDER / 'world.json'
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {'layers': 'others'}))
    with pytest.raises(BackendError, match=r'others.*training/train_world\.py'):
        PictureClassifier(tmp_path / FOLDER, SHIPPED / 'locator')


def test_features_are_those_of_the_locators_first_layers():
    picture = np.random.default_rng(0).integers(0, 256, (120, 160, 3)).astype(np.uint8)
    found = json.loads((SHIPPED / 'locator' / 'locator.json').read_text())['shape']
    network, parts = Network(Shape(**{key: tuple(value) if isinstance(value, list) else value
                                      for key, value in found.items()})).eval(), []
    load_weights(network, SHIPPED / 'locator' / 'locator.safetensors')
    trunk = network.vision
    with torch.inference_mode():
        seen = torch.from_numpy(channels(picture, None))[None]
        for layer in (trunk.stem, trunk.four, trunk.eight, trunk.sixteen):
            seen = layer(seen)
            parts += [seen.mean((0, 2, 3)), seen.std((0, 2, 3), correction=0)]
    expected = torch.cat(parts).sqrt().numpy()
    assert np.allclose(Features(SHIPPED / 'locator').of(picture), expected, atol=1e-4)
