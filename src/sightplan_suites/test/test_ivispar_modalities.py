"""Every modality with every method: a served model that plays by nothing but what it was sent.

The server reads boards from its requests alone: lines such as "B1 red cube" of a text, or a
picture that equals a render of one of the few boards there are. A prompt without a board, or one
that tells more than its modality may, shows as a failed request or an unsolved puzzle.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import io
import itertools
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from fake_openai import FakeServer, chat, error
from fake_openai import Reply as ServedReply
from sightplan import cli
from sightplan.agent import answers_only_samples, method_names, needs_model, reads_instruction
from sightplan.commands.prompts import PromptsArguments, show_prompt
from sightplan.domains import load_domain
from sightplan.domains.sliding import marks
from sightplan.grounding.views import view
from sightplan.model import EpisodeSpec, Observation
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from test_ivispar_episodes import puzzle, write

make_world = pytest.importorskip('sightplan_sim.sliding.world').make_world

PIECES = ('red cube', 'blue sphere')
CELLS = ('a1', 'b1', 'a2', 'b2')
MOVES = {'left': -1, 'right': 1, 'down': -2, 'up': 2}
SHOWN = {'3d': {'view': '3d', 'look': 0.0, 'width': 160, 'height': 120},
         '2d': {'view': '2d', 'look': 0.0, 'width': 160, 'height': 120},
         'text': {'view': 'text'}}
"""Options of the world, by modality."""
START, GOAL = ((0, 0), (0, 1)), ((1, 1), (0, 0))
"""Coordinates of the pieces; two moves apart at least."""
NO_MOVES: dict[str, list[str]] = {
    'shortest_move_sequence': [], 'random_valid_move_sequence': [],
    'random_invalid_move_sequence': []}

GROUNDS = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')
QUESTIONS = (*GROUNDS, 'belief', 'decode', 'log_odds', 'three_valued')
PROPOSALS = ('action', 'action_cot', 'plan', 'plan_cot')
READINGS = ('ground', 'belief')
"""Methods that may let the model list a whole board (reading=true)."""
SHOWS_GOAL = {*PROPOSALS, *GROUNDS, 'belief', 'decode'}
"""Methods that can be shown the goal instead of being told it."""

Board = dict[str, str]
"""Cell of each piece."""


def data(folder: Path) -> Path:
    """The one puzzle."""
    landmarks = [{**landmark, 'start_coordinate': list(start), 'goal_coordinate': list(goal)}
                 for landmark, start, goal in zip(puzzle()['landmarks'], START, GOAL, strict=True)]
    folder.parent.mkdir(exist_ok=True)
    c1 = len(way({p: CELLS[x + 2 * y] for p, (x, y) in zip(PIECES, START, strict=True)},
                 {p: CELLS[x + 2 * y] for p, (x, y) in zip(PIECES, GOAL, strict=True)}))
    return write(folder, landmarks=landmarks, complexity_c1=c1, complexity_c2=0, **NO_MOVES)


# ------------------------------------------------------------------------ the model that is served

def way(board: Mapping[str, str], goal: Mapping[str, str]) -> list[tuple[str, str]]:
    """Shortest moves from a board to the goal: piece and direction."""
    start = tuple(board[piece] for piece in PIECES)
    queue, before = deque([start]), {start: []}
    while queue:
        here = queue.popleft()
        if here == tuple(goal[piece] for piece in PIECES):
            return before[here]
        for number, piece in enumerate(PIECES):
            for direction, step in MOVES.items():
                cell = CELLS.index(here[number])
                off = {'left': cell % 2 == 0, 'right': cell % 2 == 1, 'down': cell < 2,
                       'up': cell >= 2}[direction]
                if off or CELLS[cell + step] in here:
                    continue
                there = (*here[:number], CELLS[cell + step], *here[number + 1:])
                if there not in before:
                    before[there] = [*before[here], (piece, direction)]
                    queue.append(there)
    raise AssertionError('no way')


@functools.cache
def renders(modality: str) -> dict[str, tuple[tuple[str, str], NDArray[np.uint8]]]:
    """Digest of the picture of each board to cells and picture."""
    domain, found = load_domain('sliding'), {}
    with make_world(**SHOWN[modality]) as world:
        for pair in itertools.permutations(range(4), 2):
            landmarks = [{**landmark, 'start_coordinate': [cell % 2, cell // 2],
                          'goal_coordinate': [cell % 2, cell // 2]}
                         for landmark, cell in zip(puzzle()['landmarks'], pair, strict=True)]
            text = json.dumps(puzzle(landmarks=landmarks, complexity_c1=0, **NO_MOVES))
            problem = domain.part('formats').read(domain, text, 'one', 'one.json')
            world.reset(EpisodeSpec('one', problem, 'ground'))
            image = world.observe().image
            found[digest(image)] = (CELLS[pair[0]], CELLS[pair[1]]), image
    return found


def digest(image: NDArray[np.uint8]) -> str:
    return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


@functools.cache
def looks(modality: str) -> tuple[dict[str, tuple[Board, str]], Iterator[None]]:
    """Boards and marks by the digests of pictures; the iterator adds other views of them."""
    found: dict[str, tuple[Board, str]] = {}
    boards = renders(modality).values()
    for cells, image in boards:
        board = dict(zip(PIECES, cells, strict=True))
        found[digest(image)] = board, ''
        for what in marks.TINTS:
            found[digest(marks.mark(image, what))] = board, what

    def further() -> Iterator[None]:
        for number in range(1, 25):
            for cells, image in boards:
                seen = view(Observation(image), number).image
                found[digest(seen)] = dict(zip(PIECES, cells, strict=True)), ''
            yield
    return found, further()


@dataclasses.dataclass
class Scene:
    """A board of a request, the text before it, and the mark on its picture."""

    board: Board
    before: str
    mark: str = ''


_LINE = re.compile(rf'^([AB][12]) ({"|".join(PIECES)})$', re.MULTILINE)


class Player:
    """Replies to requests by the boards in them; a request without a board is refused."""

    def __init__(self, modality: str) -> None:
        self.modality = modality

    def __call__(self, body: dict[str, Any], number: int) -> ServedReply:
        try:
            return chat(self.reply(body))
        except (AssertionError, KeyError, StopIteration) as wrong:
            return error(400, f'cannot play: {wrong!r}')

    def reply(self, body: dict[str, Any]) -> str:
        system, texts = words(body)
        scenes = list(self.scenes(body))
        assert scenes, 'no board'
        asked = texts.rsplit('\n', 1)[-1]
        if 'Solution:' in system:
            now = scenes[-1].board
            return 'Solution: ' + ', '.join(f'{now[piece]} {piece}' for piece in PIECES)
        if asked.startswith('Question: '):
            assert len(scenes) == 1, 'one board a question'
            return self.answer(scenes[0].board, asked, '<answer>' in system)
        return self.move(scenes, texts, system)

    @staticmethod
    def answer(board: Board, asked: str, reasons: bool) -> str:
        at = re.search(rf'Is the ({"|".join(PIECES)}) on cell (..)\?', asked)
        empty = re.search(r'Is cell (..) empty\?', asked)
        yes = board[at[1]] == at[2].lower() if at else empty[1].lower() not in board.values()
        word = 'Yes' if yes else 'No'
        return f'<explanation>So it is.</explanation><answer>{word}</answer>' if reasons else word

    def move(self, scenes: list[Scene], texts: str, system: str) -> str:
        now, goal = scenes[-1], [scene for scene in scenes[:-1] if 'goal' in scene.before.lower()]
        if self.modality != 'text':
            assert now.mark == 'active' and all(scene.mark == 'goal' for scene in goal)
        told = {piece: found[1].lower() for piece in PIECES if (found := re.search(
            rf'The {piece} needs to be on cell (..)\.', texts))}
        assert bool(told) != bool(goal), 'the goal is either told or shown'
        steps = way(now.board, told or goal[-1].board)
        if 'action: move' in system:
            return 'I think so.\naction: ' + (f'move {" ".join(steps[0])}' if steps else 'done')
        plan = [{'action': 'move', 'parameters': {'piece': piece.replace(' ', '_'),
                                                  'direction': direction}}
                for piece, direction in steps]
        return json.dumps({**({'explanation': 'So.'} if '"explanation"' in system else {}),
                           'plan': plan})

    def scenes(self, body: dict[str, Any]) -> Iterator[Scene]:
        """The boards of the user's message, in order."""
        content = body['messages'][-1]['content']
        if isinstance(content, str):
            assert self.modality == 'text', 'no picture'
            yield from described(content)
            return
        assert self.modality != 'text', 'a picture of a board in words'
        before = ''
        for part in content:
            if part['type'] == 'text':
                before = part['text']
                continue
            code = part['image_url']['url'].partition('base64,')[2]
            image = np.asarray(Image.open(io.BytesIO(base64.b64decode(code))).convert('RGB'))
            known, further = looks(self.modality)
            while digest(image) not in known:
                next(further)
            yield Scene(known[digest(image)][0], before, known[digest(image)][1])


def described(text: str) -> Iterator[Scene]:
    """Boards of a text: lines that follow one another, each with a piece."""
    lines = list(_LINE.finditer(text))
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert first.end() + 1 == second.start(), 'the lines of a board follow one another'
        yield Scene({line[2]: line[1].lower() for line in (first, second)},
                    text[:first.start()].rstrip().rsplit('\n', 1)[-1])


def words(body: dict[str, Any]) -> tuple[str, str]:
    """System text and texts of the user's message."""
    system = '\n'.join(message['content'] for message in body['messages'][:-1])
    content = body['messages'][-1]['content']
    return system, content if isinstance(content, str) else '\n'.join(
        part['text'] for part in content if part['type'] == 'text')


# --------------------------------------------------------------------------------------- the tests

def played(tmp_path: Path, modality: str, method: str, goal: str = 'pictured',
           **more: Any) -> FakeServer:
    """Play the puzzle and check what was sent; return the server."""
    with FakeServer(Player(modality)) as server:
        run(RunSettings(
            suite='ivispar', domain='sliding', problems=str(data(tmp_path / 'data')),
            method=method, backend='openai', goal=goal, world_options=SHOWN[modality],
            backend_options={'base_url': server.url, 'model': 'served', 'retries': 0},
            out=str(tmp_path / 'run'), **more))
    line, = RunStore(tmp_path / 'run').lines()
    assert not line['error'], line['message']
    assert line['measures']['solved_optimally'] == 1.0, line
    for body in server.bodies:
        check_words(modality, goal, *words(body))
    assert bool(server.checks) == (modality != 'text'), 'whether pictures arrive does not matter'
    return server


OF_PICTURES = re.compile(r'\b(?:pictured?|images?|drawn?|looks?|sees?|seen|marked|flat)\b',
                         re.IGNORECASE)


def check_words(modality: str, goal: str, system: str, texts: str) -> None:
    """Check that a request tells of boards as its modality does, and no goal that is shown."""
    said = f'{system}\n{texts}'
    if modality == 'text':
        assert not OF_PICTURES.search(said), said
    else:
        assert not _LINE.search(said), said
        assert not re.search(r'description (?!of its surroundings)', said), said
    if goal == 'pictured':
        assert 'needs to be on' not in said, 'the goal is shown, not told'


def test_every_method_with_a_model_is_tried() -> None:
    found = {name for name in method_names() if not answers_only_samples(name)
             and needs_model(name) and not reads_instruction(name)}
    assert found == {*QUESTIONS, *PROPOSALS}


@pytest.mark.parametrize('modality', SHOWN)
@pytest.mark.parametrize('method', [*QUESTIONS, *PROPOSALS])
def test_every_method_plays_every_modality(tmp_path: Path, modality: str, method: str) -> None:
    played(tmp_path, modality, method, 'pictured' if method in SHOWS_GOAL else 'told')


@pytest.mark.parametrize('method', [*QUESTIONS, *PROPOSALS])
def test_a_goal_is_told_beside_a_board_in_words(tmp_path: Path, method: str) -> None:
    played(tmp_path, 'text', method, 'told')


@pytest.mark.parametrize('modality', SHOWN)
@pytest.mark.parametrize('method', READINGS)
def test_whole_boards_are_listed_in_every_modality(tmp_path: Path, modality: str, method: str,
                                                   ) -> None:
    server = played(tmp_path, modality, method, method_options={'reading': True})
    assert all('Solution:' in words(body)[0] for body in server.bodies)


def test_the_prompt_of_a_view_is_the_one_that_is_sent(tmp_path: Path) -> None:
    for method in ('action', 'plan_cot', 'ground', 'ground_cot'):
        server = played(tmp_path / method, 'text', method, 'told')
        system, texts = words(server.bodies[0])
        shown, _ = show_prompt(PromptsArguments(
            domain='sliding', method=method, problem=str(tmp_path / method / 'data' / 'hand.json'),
            world_option=('view=text',)))
        assert shown['text'].count(system) == 1
        before = texts.split('A1 red cube')[0].strip()
        assert before in shown['text'], method


def test_samples_of_both_views_are_answered_by_their_pictures(tmp_path: Path) -> None:
    options = {name: value for name, value in SHOWN['3d'].items() if name != 'view'}
    for modality in ('3d', '2d'):
        for method, accuracy in (('ask', 1.0), ('ask_cot', 1.0), ('oracle', 1.0)):
            with FakeServer(Sampled(modality)) as server:
                summary = run(RunSettings(
                    suite='ivispar', split=f'boards_{modality}', method=method, backend='openai',
                    suite_options={'data': str(data(tmp_path / 'data')), **options},
                    backend_options={'base_url': server.url, 'model': 'served', 'retries': 0},
                    out=str(tmp_path / f'{modality}-{method}')))
            assert not summary['errors'] and summary['measures']['whole']['value'] == accuracy
            assert bool(server.bodies) == (method != 'oracle')
            assert not any(_LINE.search(' '.join(words(body))) for body in server.bodies)


class Sampled(Player):
    """Lists the one board of a sample."""

    def reply(self, body: dict[str, Any]) -> str:
        scene, = self.scenes(body)
        return 'Solution: ' + ', '.join(f'{scene.board[piece]} {piece}' for piece in PIECES)


@pytest.mark.parametrize('method', ['action', 'plan', 'ground', 'ground_cot', 'belief'])
def test_local_weights_read_boards_in_words(tmp_path: Path, method: str) -> None:
    """A tiny model with random weights says nothing of use, but it is asked."""
    pytest.importorskip('torch')
    tiny_models = pytest.importorskip('tiny_models')
    folder = tiny_models.make_tiny_vlm(tmp_path / 'llava')
    run(RunSettings(
        suite='ivispar', problems=str(data(tmp_path / 'data')), domain='sliding', method=method,
        backend='transformers', backend_options={'model': str(folder), 'device': 'cpu'},
        world_options=SHOWN['text'], max_actions=1, out=str(tmp_path / 'run'), record=True,
        **({'method_options': {'reply_tokens': 8}} if method != 'belief' else {})))
    line, = RunStore(tmp_path / 'run').lines()
    assert not line['error'] and line['usage']['requests'] > 0


SWEEP = Path(__file__).parents[3] / 'config' / 'sweeps' / 'ivispar.yaml'


def test_the_text_cells_of_the_shipped_sweep_run(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replies = itertools.cycle(['action: start', 'action: done'])  # the paper's protocol begins so

    def reply(body: dict[str, Any], number: int) -> Any:
        return chat(next(replies) if 'sliding puzzle' in words(body)[0] else 'Yes')

    with FakeServer(reply) as server:
        server.models = ['Qwen/Qwen2-VL-72B-Instruct']
        common = [str(SWEEP), '--out', str(tmp_path / 'sweep'), '--episodes', '2', '--jobs', '1',
                  '--only', 'what=text', 'model=Qwen2-72B', '--set',
                  f'backend_options.base_url={server.url}']
        assert cli.main(['sweep', *common, '--dry-run']) == 0
        assert '1 cells, 2 episodes, 2 missing' in capsys.readouterr().out
        assert cli.main(['sweep', *common]) == 0
    moves = [body for body in server.bodies if 'sliding puzzle' in words(body)[0]]
    assert len(moves) == 4
    for number, body in enumerate(moves):  # the goal alone, then the goal and the board
        said = '\n'.join(words(body))
        lines = re.findall(r'^[A-D][1-4] \w+ \w+$', said, re.MULTILINE)
        assert len(lines) >= 2 + 2 * (number % 2)
        assert (body['temperature'], body['top_p'], body['top_k']) == (1.0, 0.95, 50)
    for body in server.bodies:  # some of which count tokens
        assert not OF_PICTURES.search('\n'.join(words(body)))
    found = [json.loads(line) for file in (tmp_path / 'sweep').rglob('episodes.jsonl')
             for line in file.read_text().splitlines()]
    assert len(found) == 2 and not any(line['error'] for line in found)
    assert {line['goal'] for line in found} == {'pictured'}
