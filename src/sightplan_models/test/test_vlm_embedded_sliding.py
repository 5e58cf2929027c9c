"""The embedded reader of boards: what it understands, what it sees, and how it is trained."""

from __future__ import annotations

import json
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.domains.sliding import boards
from sightplan.model import Atom, BackendError, DeadlineError, Observation, Question, Verdict
from sightplan.model.query import Deadline, ask_all
from sightplan.queries import Answer, yes_no_queries
from sightplan.vlm.api import make_backend
from sightplan_models.embedded import Backend, Settings, shipped_domains, shipped_folder

torch = pytest.importorskip('torch')
pytest.importorskip('cv2')
make_scene = pytest.importorskip('sightplan_sim.sliding.drawing').make_scene
sample_look = pytest.importorskip('sightplan_sim.sliding.look').sample_look
_pieces = pytest.importorskip('sightplan_sim.sliding.pieces')
colours, pieces_of = _pieces.colours, _pieces.pieces_of
from sightplan_models import _embedded_sliding as reading  # noqa: E402
from sightplan_models import _embedded_sliding_network as networks  # noqa: E402

TRAINING = Path(__file__).resolve().parents[3] / 'training'
PIECES = ('red_cube', 'blue_sphere', 'green_pyramid', 'yellow_cylinder', 'red_sphere')
CELLS = (0, 6, 7, 13, 10)


@cache
def backend() -> Backend:
    return Backend(Settings(domain='sliding'))


def kind_of(piece: str) -> str:
    return 'tile' if piece.startswith('tile') else piece.rpartition('_')[2]


@cache
def picture(pieces: Any = PIECES, cells: Any = CELLS, size: int = 4, view: str = '3d',
            seed: int = 0, labels: str = 'both', strength: float = 1.0,
            piece_size: float = 1.0) -> Any:
    board = boards.Board(size, pieces, tuple(map(kind_of, pieces)))
    look = sample_look(np.random.default_rng(seed), strength, len(pieces))
    scene = make_scene(view, size, pieces_of(board, 'test'), look, labels=labels,
                       piece_size=piece_size)
    return scene.render(cells)


def ask(image: Any, texts: Any, timeout_s: float | None = None) -> list[Answer]:
    questions = tuple(Question(Atom('probe'), text) for text in texts)
    return ask_all(backend(), yes_no_queries(Observation(image), questions), Deadline(timeout_s))


def questions(pieces: Any = PIECES, size: int = 4) -> dict[Atom, str]:
    domain, cells = load_domain('sliding'), boards.cell_names(size)
    atoms = [Atom('at', (piece, cell)) for piece in pieces for cell in cells]
    atoms += [Atom('empty', (cell,)) for cell in cells]
    return {atom: domain.question(atom).text for atom in atoms}


def seen(image: Any, pieces: Any = PIECES, size: int = 4) -> set[Atom]:
    """The atoms to which the answer is yes."""
    asked = questions(pieces, size)
    return {atom for atom, reply in zip(asked, ask(image, asked.values()), strict=True)
            if reply.text == 'yes'}


def facts(pieces: Any = PIECES, cells: Any = CELLS, size: int = 4) -> set[Atom]:
    return set(boards.Board(size, pieces, tuple(map(kind_of, pieces))).facts(cells))


@pytest.mark.parametrize(('text', 'asked'), [
    ('Is the red cube on cell B2?', reading.Asked(1, 1, 'cube', 'red')),
    ('is the light blue prism on f6', reading.Asked(5, 5, 'prism', 'lightblue')),
    ('Is the dark_olive_green cone on cell A1?', reading.Asked(0, 0, 'cone', 'darkolivegreen')),
    ('Is the tile 12 on cell C1?', reading.Asked(2, 0, 'tile', number=12)),
    ('Is there a sphere on D3?', reading.Asked(3, 2, 'sphere')),
    ('Is cell B2 empty?', reading.Asked(1, 1)),
    ('Is cell B1 next to cell A1, on the side right?', None),
    ('Is the red cube left of the blue one?', None), ('Is the red cube on B7?', None),
    ('Is the red cube not on cell B2?', None), ('Is the cube next to B2?', None),
    ('Is the red cube on the blue cube on B2?', None), ('Is cell B2 not empty?', None),
    ('Is the red tile on B2?', None), ('Is B2 nice?', None), ('', None)])
def test_questions_are_understood_or_not(text: str, asked: Any) -> None:
    assert reading.understood(text) == asked


def test_every_question_of_the_domain_is_understood() -> None:
    domain = load_domain('sliding')
    for split in domain.splits:
        problem = domain.split_problems(split)[0]
        pieces = boards.Board.of(problem).pieces
        for atom, text in questions(pieces, 3).items():
            found = reading.understood(text)
            assert found is not None
            assert f'{"abcdef"[found.x]}{found.y + 1}' == atom.args[-1]
            assert (found.kind == '') is (atom.predicate == 'empty')


@pytest.mark.parametrize('view', ['3d', '2d'])
@pytest.mark.parametrize('labels', ['both', 'none'])
def test_a_board_is_read_right(view: str, labels: str) -> None:
    assert seen(picture(view=view, labels=labels)) == facts()


@pytest.mark.parametrize('piece_size', [0.62, 0.8])
def test_smaller_pieces_are_read(piece_size: float) -> None:
    for seed in range(3):
        assert seen(picture(seed=seed, piece_size=piece_size)) == facts()


def test_pieces_behind_others_are_read() -> None:
    """Columns of three pieces that fill their cells: of the farther ones little is seen."""
    pieces = ('red_cube', 'blue_sphere', 'green_pyramid', 'yellow_cylinder', 'red_sphere',
              'green_cube')
    for columns in ((1, 5, 9, 2, 6, 10), (5, 9, 13, 6, 10, 14)):
        for seed in range(3):
            image = picture(pieces, columns, seed=seed)
            assert seen(image, pieces) == facts(pieces, columns)


@pytest.mark.parametrize('size', networks.SIZES)
def test_boards_of_every_size_are_read(size: int) -> None:
    pieces = ('orange_cone', 'purple_prism', 'black_cube')
    cells = (size * size - 1, 1, size)
    for view in ('3d', '2d'):
        image = picture(pieces, cells, size, view, seed=size)
        assert seen(image, pieces, size) == facts(pieces, cells, size)


def test_answers_follow_the_pixels_not_the_names() -> None:
    """Pieces that swap places swap answers; the rest of the request stays the same."""
    for seed in range(4):
        order = tuple(np.random.default_rng(seed).permutation(CELLS).tolist())
        assert seen(picture(cells=order, seed=seed)) == facts(cells=order)


def test_usual_colours_are_told_apart() -> None:
    names = ('red', 'green', 'blue', 'yellow', 'orange', 'purple', 'pink', 'cyan', 'brown',
             'black', 'white', 'gray')
    pieces, cells = tuple(f'{name}_sphere' for name in names), tuple(range(12))
    for view in ('3d', '2d'):
        assert seen(picture(pieces, cells, view=view), pieces) == facts(pieces, cells)


def test_a_rarer_colour_is_told_from_those_asked_about() -> None:
    pieces, cells = ('dark_green_cube', 'light_blue_cube', 'gold_cube'), (0, 5, 10)
    others = ('gray_cube', 'light_blue_cube', 'purple_cube')
    image = picture(pieces, cells)
    assert seen(image, pieces) == facts(pieces, cells)
    assert Atom('at', ('purple_cube', 'c3')) not in seen(image, others)


def test_tiles_are_read_by_their_numbers() -> None:
    pieces = tuple(f'tile_{number}' for number in range(1, 9))
    cells = (8, 7, 6, 5, 4, 3, 2, 1)
    for view in ('3d', '2d'):
        assert seen(picture(pieces, cells, 3, view), pieces, 3) == facts(pieces, cells, 3)


def test_other_views_of_a_picture_are_read() -> None:
    import cv2
    image = picture()
    for zoom, x, y, gamma in ((0.85, 12, -9, 1.25), (1.15, -12, 9, 0.8), (1.0, 20, 10, 1.0)):
        matrix = np.array([(zoom, 0, 320 * (1 - zoom) + x), (0, zoom, 240 * (1 - zoom) + y)])
        moved = cv2.warpAffine(image, matrix, (640, 480),
                               borderValue=tuple(map(int, image[0, 0])))
        moved = np.rint(255 * (moved / 255) ** gamma).astype(np.uint8)
        assert seen(moved) == facts()


@pytest.mark.parametrize('size', [(320, 240), (1280, 960), (800, 480)])
def test_the_size_of_the_picture_may_differ(size: tuple[int, int]) -> None:
    board = boards.Board(4, PIECES, tuple(map(kind_of, PIECES)))
    scene = make_scene('3d', 4, pieces_of(board, 'test'), width=size[0], height=size[1])
    assert seen(scene.render(CELLS)) == facts()


def test_of_pictures_without_a_board_it_cannot_tell() -> None:
    blocks = pytest.importorskip('sightplan_sim.blocksworld.scene')
    with blocks.BlocksScene(640, 480) as scene:
        look = blocks.sample_look(np.random.default_rng(5), 1.0)
        other = scene.render((('r', 'g'), (), ('b',)), ('c1', 'c2', 'c3'), look).rgb
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    greys = [np.full((480, 640, 3), value, np.uint8) for value in (0, 90, 150, 255)]
    for image in (other, noise, *greys):
        replies = ask(image, questions().values())
        assert {reply.verdict for reply in replies} == {Verdict.UNKNOWN}
        assert {reply.reason for reply in replies} == {'no board is seen in the picture'}


def test_a_cell_that_the_board_does_not_have_holds_nothing() -> None:
    texts = ['Is the red cube on cell F6?', 'Is cell E1 empty?', 'Is the red cube on cell A1?']
    assert [reply.text for reply in ask(picture(), texts)] == ['no', 'no', 'yes']


@pytest.mark.parametrize('text', ['Is the sparkly cube on cell A1?', 'Who is there?'])
def test_what_it_cannot_read_is_no_answer(text: str) -> None:
    reply, = ask(picture(), [text])
    assert reply.p_yes is None and reply.verdict is Verdict.UNKNOWN
    assert reply.reason == 'this is no question about a cell of a board'


def test_probabilities_are_probabilities_and_repeat() -> None:
    replies = ask(picture(), questions().values())
    assert all(0 <= r.p_yes <= 1 and r.p_yes + r.p_no == pytest.approx(1) for r in replies)
    assert ask_all(Backend(Settings(domain='sliding')), yes_no_queries(Observation(picture()),
                                                                       tuple(
        Question(Atom('probe'), text) for text in questions().values()))) == replies


def test_a_picture_is_read_once(monkeypatch: Any) -> None:
    reader, read = backend().main, []
    whole = reader.read
    monkeypatch.setattr(reader, 'read', lambda *rest: read.append(1) or whole(*rest))
    image = picture(seed=77)
    before = backend().usage
    ask(image, list(questions().values())[:20] * 2 + ['Is cell D4 empty?'])
    ask(image, ['Is the red cube on cell D4?'])
    assert len(read) == 1
    assert (backend().usage - before).requests == 42


def test_errors_name_their_remedy(tmp_path: Path) -> None:
    for image in (None, np.zeros((4, 4, 3), np.uint8), np.zeros((480, 640), np.uint8)):
        with pytest.raises(BackendError, match='image'):
            ask(image, ['Is cell A1 empty?'])
    with pytest.raises(DeadlineError, match='limit'):
        ask(picture(seed=78), ['Is cell A1 empty?'], timeout_s=1e-9)
    shutil.copytree(shipped_folder('sliding'), tmp_path / 'm')
    copied = Backend(Settings(model_dir=str(tmp_path / 'm')))
    assert copied.name.startswith('m@') and copied.traits.domain == ''
    found = json.loads((tmp_path / 'm' / 'config.json').read_text())
    found['shape']['hidden'] = 64
    (tmp_path / 'm' / 'config.json').write_text(json.dumps(found))
    with pytest.raises(BackendError, match='model_dir'):
        Backend(Settings(model_dir=str(tmp_path / 'm')))


def test_it_is_shipped_small_and_knows_what_the_domain_has() -> None:
    folder = shipped_folder('sliding')
    assert 'sliding' in shipped_domains()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3 * 2**20
    made = make_backend('embedded', {'domain': 'sliding'})
    assert made.name.startswith('embedded_model/sliding@')
    assert networks.KINDS == boards.KINDS
    assert (networks.SIZES[0], networks.SIZES[-1]) == (boards.SMALLEST, boards.LARGEST)
    found = json.loads((folder / 'config.json').read_text())
    assert {name: tuple(rgb) for name, rgb in found['colours'].items()} == colours()


# ------------------------------------------------------------------------------------- training


@pytest.fixture
def trainer(monkeypatch: Any) -> Any:
    monkeypatch.syspath_prepend(str(TRAINING))
    yield __import__('train_sliding')
    torch.set_flush_denormal(False)  # a training sets it for its process, here everybody's
    sys.modules.pop('train_sliding', None)


def test_places_of_cells_are_where_the_scene_has_them(trainer: Any) -> None:
    pieces = pieces_of(boards.Board(5, ('red_cube',), ('cube',)), 'test')
    scene = make_scene('3d', 5, pieces)
    corners = trainer.cell_corners(scene, 5)
    places = networks.cells(corners, 5)
    middle = scene.view.project(np.array([(2.5, 3.5, 0.0), (2.0, 3.5, 0.0), (3.0, 3.5, 0.0)]))
    assert places[17] == pytest.approx([*middle[0], np.hypot(*(middle[2] - middle[1]))])
    there = networks.places_of(torch.tensor(corners), 30, 40).float()
    heat = torch.full((1, 4, 30, 40), -1e9)
    for k, (x, y) in enumerate(there.tolist()):
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
            share = abs(1 - dx - x % 1) * abs(1 - dy - y % 1)
            heat[0, k, int(y) + dy, int(x) + dx] = np.log(max(share, 1e-9))
    assert networks.corners_of(heat)[0].numpy() == pytest.approx(corners, abs=0.05)


def test_views_move_corners_with_the_picture(trainer: Any) -> None:
    image = np.full((480, 640, 3), 200, np.uint8)
    image[196:205, 296:305] = (255, 0, 0)
    for seed in range(12):
        view, at = trainer.draw_view(np.random.default_rng(seed), image,
                                     np.array([(300.0, 200.0)] * 4))
        red = view[:, :, 0].astype(int) - view[:, :, 1] > 90
        y, x = np.nonzero(red)
        assert (x.mean(), y.mean()) == pytest.approx(tuple(at[0]), abs=0.6)


def test_no_shipped_board_is_learned_from(trainer: Any) -> None:
    shipped = trainer.shipped_boards()
    problem = load_domain('sliding').split_problems('geoms')[7]
    board = boards.Board.of(problem)
    start = frozenset(zip(board.pieces, board.arrangement(problem.init), strict=True))
    assert (board.size, start) in shipped and len(shipped) > 600
    rng, names = np.random.default_rng(0), []
    everything = {(2, frozenset({(f'tile_{n}', cell)})) for n in range(1, 5)
                  for cell in range(4)}
    for _ in range(200):
        pieces = trainer.draw_board(rng, 2, frozenset(everything))[0]
        names.append(len(pieces) == 1 and pieces[0].kind == 'tile')
    assert not any(names)


def test_a_stopped_training_goes_on_as_if_it_had_not_stopped(
        trainer: Any, tmp_path: Path, monkeypatch: Any) -> None:
    for name, count in (('_GROUPS', 2), ('_GROUP', 2), ('_OTHERS', 1), ('_NONSENSE', 1)):
        monkeypatch.setattr(trainer, name, count)
    shard = trainer.draw_shard(3)
    sys.modules['shards'].write_shards(tmp_path / 'scenes', [0], lambda seed: shard)
    settings = trainer.Settings(shards=1, passes=7, pool=1, finder_batch=3, reader_batch=16)
    view = trainer.Views(tmp_path / 'scenes', [0], 1, trainer._SHAPE)[0]

    def pools(count: int) -> Any:
        return lambda *rest: iter([view] * (count - rest[3]))

    def train(name: str) -> bytes:
        trainer.train(settings, tmp_path / 'scenes', tmp_path / name)
        return (tmp_path / name / 'model.safetensors').read_bytes()

    monkeypatch.setattr(trainer, 'pools', pools(7))
    whole = train('whole')
    saved = trainer.save
    monkeypatch.setattr(trainer, 'save', lambda *rest: (saved(*rest), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        train('stopped')
    monkeypatch.setattr(trainer, 'save', saved)
    monkeypatch.setattr(trainer, 'pools', pools(7))
    assert train('stopped') == whole
    log = (tmp_path / 'stopped' / 'training_log.jsonl').read_text().splitlines()
    assert [json.loads(line)['shards'] for line in log] == [1, 2, 3, 4, 5, 6, 7]
    assert not (tmp_path / 'stopped' / trainer.CHECKPOINT_FILE).exists()


def test_weights_with_other_cutouts_are_taken_over(trainer: Any, tmp_path: Path) -> None:
    """A larger, raised cutout at the same scale sees the same, but for what its edges add."""
    old = networks.Network(networks.Shape(part=40, reach=1.0, raised=0.0)).eval()
    learners = {name: trainer.Learner(getattr(old, name), 1e-3, 1, 0.9)
                for name in ('finder', 'counter', 'reader')}
    trainer.export(old.shape, learners, tmp_path)
    new = networks.Network(networks.Shape(part=56, reach=1.4, raised=0.4)).eval()
    trainer.start_from(new, tmp_path)
    picture = torch.zeros(1, 3, 56, 56)
    picture[:, :, 32:40, 24:32] = 50 * torch.rand(1, 3, 8, 8)
    with torch.inference_mode():
        found = [network.reader.see(part).numpy() for network, part in (
            (old, picture[:, :, 16:, 8:48]), (new, picture))]
    assert np.abs(found[1] - found[0]).max() < 0.05 * found[0].max()


def test_a_few_steps_are_learned_and_their_folder_reads(trainer: Any, tmp_path: Path,
                                                        monkeypatch: Any) -> None:
    for name, count in (('_GROUPS', 2), ('_GROUP', 2), ('_OTHERS', 1), ('_NONSENSE', 1)):
        monkeypatch.setattr(trainer, name, count)
    first, again = trainer.draw_shard(3), trainer.draw_shard(3)
    assert all((first[key] == again[key]).all() for key in first)
    sys.modules['shards'].write_shards(tmp_path / 'scenes', [0], lambda seed: first)
    settings = trainer.Settings(shards=1, passes=1, pool=1, finder_batch=3, reader_batch=16)
    weights = []
    for name in ('a', 'b'):
        monkeypatch.setattr(trainer, 'pools', lambda *rest: iter([trainer.Views(
            tmp_path / 'scenes', [0], 1, rest[2])[0]]))
        trainer.train(settings, tmp_path / 'scenes', tmp_path / name)
        weights.append((tmp_path / name / 'model.safetensors').read_bytes())
    assert weights[0] == weights[1]
    made = Backend(Settings(model_dir=str(tmp_path / 'a')))
    assert len(ask_all(made, yes_no_queries(Observation(picture()), (
        Question(Atom('probe'), 'Is cell A1 empty?'),)))) == 1
