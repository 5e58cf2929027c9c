"""``sightplan problems``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from sightplan.cli import main
from sightplan.domains import load_domain
from sightplan.model import EpisodeSpec, Observation, WorldError
from sightplan.runs import make_world
from sightplan_report.contact_sheet import Picture, draw_sheet, shrunk

DOMAIN, SLIDING = load_domain('blocksworld'), load_domain('sliding')


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(['problems', *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys, *arguments: str) -> dict:
    code, out, _ = run(capsys, *arguments, '--json')
    assert code == 0
    return json.loads(out.splitlines()[-1])


def test_list_shows_all_splits(capsys) -> None:
    code, out, err = run(capsys, 'list')
    assert (code, err) == (0, '')
    for split in DOMAIN.splits:
        assert f'blocksworld {split}: 25 problems' in out
    first = DOMAIN.split_problems('hard')[0]
    assert (f'  problem_00  6 blocks, 4 columns, shortest plan: {first.optimal_length}'
            in out.splitlines())


def test_list_as_json(capsys) -> None:
    listed = run_json(capsys, 'list', '--split', 'medium')
    assert list(listed['splits']) == ['medium'] and listed['errors'] == []
    assert len(listed['splits']['medium']) == 25
    entry = listed['splits']['medium'][0]
    assert entry['sizes'] == {'block': 5, 'column': 5}
    assert DOMAIN.read_problem(Path(entry['file'])).name == entry['name']


def test_list_of_a_folder_with_a_bad_file(capsys, tmp_path) -> None:
    (tmp_path / 'bad.pddl').write_text('(define')
    (tmp_path / 'good.pddl').write_text(DOMAIN.write_problem(DOMAIN.split_problems('simple')[0]))
    code, out, err = run(capsys, 'list', '--problems', str(tmp_path))
    assert code == 1
    assert 'good  3 blocks, 4 columns, shortest plan: unknown' in out
    assert f'{tmp_path}/bad.pddl:1: ' in err


def test_generate_then_list_and_show(capsys, tmp_path) -> None:
    out = tmp_path / 'new'
    code, text, _ = run(capsys, 'generate', '--blocks', '4', '--columns', '3', '--count', '5',
                        '--seed', '9', '--min-length', '2', '--out', str(out))
    assert code == 0 and text == f'5 problems in {out}\n'
    listed = run_json(capsys, 'list', '--problems', str(out))['splits'][str(out)]
    assert all(p['sizes'] == {'block': 4, 'column': 3} for p in listed)
    assert all(p['optimal_length'] >= 2 for p in listed)
    shown = run_json(capsys, 'show', str(out / 'problem_03.pddl'))
    assert shown['optimal_length'] == listed[3]['optimal_length'] == len(shown['plan'])


def test_generate_tells_as_json_what_it_wrote(capsys, tmp_path) -> None:
    told = run_json(capsys, 'generate', '--count', '2', '--out', str(tmp_path / 'a'))
    assert [p['name'] for p in told['problems']] == ['problem_00', 'problem_01']
    assert told['settings']['blocks'] == 3
    again = run_json(capsys, 'generate', '--count', '2', '--out', str(tmp_path / 'b'))
    for one, other in zip(told['problems'], again['problems'], strict=True):
        assert one['seed'] == other['seed']
        assert Path(one['file']).read_bytes() == Path(other['file']).read_bytes()


def sliding(capsys, out: Path, *options: str) -> list:
    """The configurations of generated puzzles, which are checked to be what they say."""
    told = run_json(capsys, 'generate', '--domain', 'sliding', *options, '--out', str(out))
    problems = [SLIDING.read_problem(Path(one['file'])) for one in told['problems']]
    for problem in problems:
        assert len(SLIDING.generator.optimal_plan(problem)) == problem.optimal_length
    return [json.loads(Path(one['file']).read_text()) for one in told['problems']]


@pytest.mark.parametrize(('count', 'files'), [(1, 1), (4, 4), (10, 10), (302, 302), (None, 300)])
def test_a_split_is_drawn_as_often_as_counted(capsys, tmp_path, count, files) -> None:
    options = [] if count is None else ['--count', str(count)]
    told = run_json(capsys, 'generate', '--domain', 'sliding', '--split', 'geoms', *options,
                    '--out', str(tmp_path / 'a'))
    assert len(told['problems']) == files == len(list((tmp_path / 'a').glob('*.json')))
    names = {problem.name for problem in SLIDING.split_problems('geoms')}
    found = {problem['name'] for problem in told['problems']}
    assert found <= names if files <= 300 else names < found
    numbers = [name.split('_') for name in found]
    assert len({one[4] for one in numbers}) == min(10, files), 'pieces'
    assert len({one[6] for one in numbers}) == min(10, files), 'moves'


def test_another_seed_draws_other_puzzles_of_a_split(capsys, tmp_path) -> None:
    drawn = [sliding(capsys, tmp_path / seed, '--split', 'tiles', '--count', '3', '--seed', seed)
             for seed in ('0', '500')]
    assert drawn[0] != drawn[1]


def test_pieces_make_way_in_puzzles_with_interference(capsys, tmp_path) -> None:
    for file in sliding(capsys, tmp_path / 'a', '--interference', '1', '--min-pieces', '3',
                        '--max-pieces', '6', '--max-length', '8', '--count', '5'):
        ways = sum(abs(a - b) for one in file['landmarks'] for a, b in zip(
            one['start_coordinate'], one['goal_coordinate'], strict=True))
        assert file['complexity_c2'] == 1 == (file['complexity_c1'] - ways) / 2
        assert '_c2_1_' in file['config_instance_id']


def test_shapes_and_colours_are_chosen_by_name(capsys, tmp_path) -> None:
    files = sliding(capsys, tmp_path / 'a', '--shapes', 'cone, Prism,cube,sphere,pyramid,cylinder',
                    '--colours', 'light_blue,tomato,dark slate gray', '--min-pieces', '15',
                    '--max-pieces', '15', '--max-length', '5', '--count', '4')
    marks = [mark for file in files for mark in file['landmarks']]
    assert {mark['body'] for mark in marks} == {
        'cone', 'prism', 'cube', 'sphere', 'pyramid', 'cylinder'}
    assert {mark['color'].replace(' ', '_') for mark in marks} == {
        'light_blue', 'tomato', 'dark_slate_gray'}
    with make_world('sliding', {'view': '2d', 'width': 160, 'height': 120}) as world:
        problem = SLIDING.read_problem(next((tmp_path / 'a').glob('*.json')))
        world.reset(EpisodeSpec('one', problem, 'ground'))
        assert world.observe().image is not None, 'the world can draw what is generated'


@pytest.mark.parametrize(('size', 'pieces'), [(2, 1), (2, 3), (3, 8), (4, 1), (5, 16), (6, 16)])
def test_boards_of_all_sizes_from_one_piece_to_one_gap(capsys, tmp_path, size, pieces) -> None:
    for file in sliding(capsys, tmp_path / 'a', '--size', str(size), '--min-pieces', str(pieces),
                        '--max-pieces', str(pieces), '--min-length', '1', '--max-length', '2',
                        '--count', '2'):
        assert (file['grid_size'], len(file['landmarks'])) == (size, pieces)


@pytest.mark.parametrize('size', [2, 3, 4, 5])
def test_tiles_of_a_size(capsys, tmp_path, size) -> None:
    for file in sliding(capsys, tmp_path / 'a', '--tiles', '--size', str(size), '--max-length',
                        '5', '--count', '2'):
        assert len(file['landmarks']) == size * size - 1


def test_help_has_the_values_of_every_setting(capsys) -> None:
    with pytest.raises(SystemExit):
        main(['problems', 'generate', '--help'])
    text = ' '.join(capsys.readouterr().out.split())
    assert 'None' not in text
    assert 'instead of geoms (default: no)' in text
    assert 'blocksworld: 0 to 100, default: 1; sliding: 1 to 40, default: 2' in text


def test_show_draws_and_plans(capsys) -> None:
    problem = DOMAIN.split_problems('hard')[2]
    code, out, err = run(capsys, 'show', 'hard/problem_02')
    assert (code, err) == (0, '')
    assert 'start' in out and 'goal' in out and 'c1  c2  c3  c4' in out
    assert DOMAIN.goal_text(problem) in out
    assert f'a shortest plan, {problem.optimal_length} actions:' in out
    assert out.count('moveblock(') == problem.optimal_length


def test_show_as_json_holds_a_valid_plan(capsys) -> None:
    from sightplan.model import Action
    problem = DOMAIN.split_problems('simple')[1]
    shown = run_json(capsys, 'show', 'simple/problem_01')
    plan = [Action.parse(text) for text in shown['plan']]
    assert DOMAIN.model(problem).first_flaw(plan, problem.init, problem.goal) is None
    assert shown['planning'] == 'solved' and shown['goal_text'] == DOMAIN.goal_text(problem)
    assert set(shown['drawings']) == {'start', 'goal'}


def test_a_partial_goal_is_left_to_the_planner(capsys, tmp_path) -> None:
    path = tmp_path / 'partial.pddl'
    path.write_text('(define (problem p) (:domain blocksworld) '
                    '(:objects r g - block c1 c2 c3 - column) '
                    '(:init (clear r) (on r g) (incolumn r c1) (incolumn g c1)) (:goal (on g r)))')
    assert run_json(capsys, 'show', str(path))['plan'] in (
        ['moveblock(r, c2)', 'moveblock(g, c2)'], ['moveblock(r, c3)', 'moveblock(g, c3)'])


def test_show_of_a_problem_without_a_plan_and_without_a_picture(capsys, tmp_path) -> None:
    path = tmp_path / 'stuck.pddl'
    path.write_text('(define (problem p) (:domain blocksworld) (:objects r - block c1 - column)'
                    '(:init (clear r)) (:goal (on r r)))')
    code, out, _ = run(capsys, 'show', str(path))
    assert code == 1 and 'no plan: unsolvable' in out and 'clear r' in out


@pytest.mark.parametrize(('arguments', 'code', 'words'), [
    (['list', '--split', 'easy'], 2, 'simple, medium, hard'),
    (['list', '--problems', '/no/such/folder'], 2, 'no such folder'),
    (['list', '--domain-file', '/no/such/file'], 2, '/no/such/file:1: cannot be read'),
    (['show', 'simple/problem_99'], 2, 'no such problem'),
    (['show', 'nothing.pddl'], 2, 'no such file'),
    (['show', __file__], 1, f'{__file__}:1: '),
    (['generate', '--blocks', '7', '--out', '/x'], 2, 'must be at least 1 and at most 6'),
    (['generate', '--columns', '9', '--out', '/x'], 2, 'columns = 9 is out of bounds, it must'),
    (['generate', '--count', '0', '--out', '/x'], 2, '--count'),
    (['generate', '--blocks', '3', '--columns', '1', '--out', '/x'], 2, 'found only 0 of 10'),
    (['generate', '--split', 'easy', '--out', '/x'], 2, 'simple, medium, hard'),
    (['generate', '--split', 'hard', '--blocks', '3', '--out', '/x'], 2, 'leave out blocks'),
    (['generate', '--out', '/dev/null/x'], 2, 'cannot be written'),
    *((['generate', '--domain', 'sliding', '--out', '/x', *options], 2, words)
      for options, words in (
          (['--colours', 'rad'], "'rad' does not exist; did you mean 'red'"),
          (['--colours', 'gray,grey'], 'grey looks like gray'),
          (['--colours', ''], "colours: '' does not exist"),
          (['--shapes', 'cube,ball'], "shapes: 'ball' does not exist"),
          (['--shapes', 'cube,Cube'], 'cube is there twice'),
          (['--shapes', 'cube', '--colours', 'red,blue'], 'there are 2 (set max_pieces to 2'),
          (['--size', '3'], 'set max_pieces to 8 or less'), (['--size', '7'], 'at most 6'),
          (['--size', '1'], 'at least 2'), (['--max-pieces', '16'], 'leave no gap'),
          (['--min-pieces', '0'], 'at least 1'), (['--count', '-3'], 'at least 1'),
          (['--seed', '-1'], 'at least 0'), (['--min-pieces', '12'], 'is above max_pieces'),
          (['--interference', '1', '--min-pieces', '1'], 'needs two pieces at least'),
          (['--interference', '4', '--max-length', '9'], 'of 10 moves at least'),
          (['--interference', '-1'], 'at least 0'), (['--interference', '5'], 'at most 4'),
          (['--tiles', '--colours', 'red'], 'colours is about geoms'),
          (['--tiles', '--interference', '1'], 'interference is about geoms'),
          (['--tiles', '--size', '2', '--max-length', '4', '--count', '90'], 'found only'),
          (['--split', 'geoms', '--tiles'], 'leave out tiles')))])
def test_bad_usage(capsys, arguments, code, words) -> None:
    found, out, err = run(capsys, *arguments)
    assert (found, out) == (code, '')
    assert err.startswith('sightplan problems ') and words in err


@pytest.mark.parametrize('arguments', [[], ['fly'], ['show'], ['generate'],
                                       ['list', '--domain', 'moon']])
def test_usage_errors_of_the_parser_exit_with_2(capsys, arguments) -> None:
    with pytest.raises(SystemExit) as caught:
        main(['problems', *arguments])
    assert caught.value.code == 2


def test_help_of_every_command(capsys) -> None:
    for arguments in ([], ['list'], ['generate'], ['show'], ['pictures']):
        with pytest.raises(SystemExit) as caught:
            main(['problems', *arguments, '--help'])
        assert caught.value.code == 0
    out = capsys.readouterr().out
    assert 'exit codes' in out and '--max-height' in out and 'SPLIT/NAME' in out


def test_a_picture_of_the_start_with_answers(tmp_path, capsys) -> None:
    path = tmp_path / 'scene.png'
    assert main(['problems', 'show', 'simple/problem_00', '--image', str(path),
                 '--backend', 'noisy_oracle']) == 0
    assert path.read_bytes().startswith(b'\x89PNG')
    assert main(['problems', 'show', 'simple/problem_00', '--image', str(tmp_path)]) == 2
    assert 'cannot be written' in capsys.readouterr().err
    assert main(['problems', 'show', 'simple/problem_00', '--backend', 'embedded']) == 2
    assert '--image' in capsys.readouterr().err


def sheet(path: Path) -> np.ndarray:
    return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)


def pictures(*arguments: str) -> list[str]:
    return ['problems', 'pictures', '--size', '64', '--world-option', 'width=160',
            '--world-option', 'height=120', *arguments]


def test_a_sheet_shows_different_problems_with_captions(tmp_path, capsys) -> None:
    path = tmp_path / 'starts.png'
    code = main(pictures('--count', '4', '--columns', '2', '--out', str(path), '--json'))
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert code == 0 and told['out'] == str(path) and told['errors'] == []
    names = [entry['name'] for entry in told['problems']]
    assert len(set(names)) == 4 and all(entry['shown'] for entry in told['problems'])
    assert {name.partition('/')[0] for name in names} == set(DOMAIN.splits)
    assert err.splitlines()[-2:] == [f'4/4 {names[-1]}', f'4 pictures in {path}']
    page = sheet(path)
    assert page.shape == (2 * 12 + 2 * (48 + 22) + 10, 2 * 12 + 2 * 64 + 10, 3)
    cells = [page[y:y + 48, x:x + 64] for y in (12, 92) for x in (12, 86)]
    assert all(cell.std() > 5 for cell in cells)
    assert len({cell.tobytes() for cell in cells}) == 4
    captions = [page[y + 48:y + 70, x:x + 64] for y in (12, 92) for x in (12, 86)]
    assert all(caption.min() < 100 for caption in captions)
    assert main(pictures('--count', '4', '--columns', '2', '--seed', '1', '--out', str(path))) == 0
    assert 'pictures in' in capsys.readouterr().out
    assert not np.array_equal(page, sheet(path))


def test_a_sheet_of_a_folder_has_no_more_pictures_than_problems(tmp_path, capsys) -> None:
    for number, problem in enumerate(DOMAIN.split_problems('simple')[:2]):
        (tmp_path / f'mine_{number}.pddl').write_text(DOMAIN.write_problem(problem))
    (tmp_path / 'bad.pddl').write_text('(define')
    path = tmp_path / 'starts.png'
    code = main(pictures('--problems', str(tmp_path), '--out', str(path)))
    out, err = capsys.readouterr()
    assert code == 1 and out == f'2 pictures in {path}\n'
    assert '2/2 mine_1' in err and 'bad.pddl:1: ' in err
    assert sheet(path).shape[1] == 2 * 12 + 2 * 64 + 10


@pytest.mark.parametrize(('arguments', 'message'), [
    (['--split', 'huge'], 'huge'),
    (['--overview'], 'no view from above'),
    (['--world-option', 'pictures=none'], 'draws no pictures'),
    (['--world-option', 'width'], 'KEY=VALUE'),
    (['--world-option', 'colour=red'], 'colour'),
    (['--count', '0'], '--count 0'),
    (['--columns', '-1'], '--columns -1'),
    (['--size', '100000'], '--size 100000'),
    (['--count', '60', '--size', '2048'], 'lower --count or --size'),
    (['--seed', '-1'], '--seed -1'),
    (['--domain-file', 'x.pddl'], '--problems DIR'),
    (['--problems', 'nowhere'], 'nowhere'),
    (['--problems', '.', '--split', 'simple'], 'exclude each other'),
])
def test_sheets_refuse_bad_arguments(tmp_path, capsys, arguments, message) -> None:
    assert main(pictures('--out', str(tmp_path / 'a.png'), *arguments)) == 2
    out, err = capsys.readouterr()
    assert out == '' and message in err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(('name', 'message'), [
    ('nowhere/a.png', 'there is no folder'), ('a.jpg', 'must end in .png'),
    ('folder.png', 'is a folder')])
def test_sheets_refuse_bad_files(tmp_path, capsys, name, message) -> None:
    (tmp_path / 'folder.png').mkdir()
    assert main(pictures('--out', str(tmp_path / name))) == 2
    assert message in capsys.readouterr().err


class Gallery:
    """A world that shows two of three problems, and has a view from above."""

    def reset(self, spec) -> None:
        if spec.problem.name.endswith('1'):
            raise WorldError('too small (take a larger one)')

    def observe(self) -> Observation:
        return Observation(np.full((20, 40, 3), 90, np.uint8), visible_objects=('r', 'g'))

    def overview(self, size: int):
        return np.full((size, size, 3), 200, np.uint8)


@pytest.mark.parametrize('above', [False, True])
def test_sheets_tell_what_is_in_view_and_what_cannot_be_shown(
        tmp_path, capsys, monkeypatch, above) -> None:
    monkeypatch.setattr('sightplan.runs.make_world', lambda name, options: Gallery())
    for number, problem in enumerate(DOMAIN.split_problems('simple')[:3]):
        (tmp_path / f'mine_{number}.pddl').write_text(DOMAIN.write_problem(problem))
    path = tmp_path / 'starts.png'
    code = main(['problems', 'pictures', '--problems', str(tmp_path), '--out', str(path),
                 '--size', '80', '--json'] + ['--overview'] * above)
    out, err = capsys.readouterr()
    problems = json.loads(out)['problems']
    assert code == 1 and 'mine_1: too small (take a larger one)' in err
    assert [entry['shown'] for entry in problems] == [True, False, True]
    assert problems[0]['text'] == 'in view: r, g'
    height = 80 if above else 40
    first = sheet(path)[12:12 + height, 12:92]
    assert (first == (200 if above else 90)).all()


def test_pictures_are_shrunk_to_what_a_sheet_shows() -> None:
    image = np.random.default_rng(0).integers(0, 256, (90, 120, 3)).astype(np.uint8)
    small = shrunk(image, 40)
    assert small.shape == (30, 40, 3) and shrunk(small, 40) is small
    assert np.array_equal(draw_sheet([Picture('a', image=image)], size=40),
                          draw_sheet([Picture('a', image=small)], size=40))
