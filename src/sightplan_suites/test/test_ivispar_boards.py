"""iVISPAR's board inference: pictures of boards, replies about them, and lists in episodes."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from sightplan import cli
from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import cell_names
from sightplan.model import Answer, InputError
from sightplan.model.sample import Picture, SampleReply
from sightplan.records import RunStore
from sightplan.runs import RunSettings, load_suite, run, specify
from sightplan.runs.rules import suite_of
from sightplan.runs.samples import load_samples, score_reply
from sightplan.runs.suite_rules import EPISODES, SAMPLES
from sightplan.sweeps.cells import parse_sweep
from sightplan.sweeps.graphs import check_graph
from sightplan_suites.ivispar import reading
from sightplan_suites.ivispar.samples import vocabulary_of
from test_ivispar_episodes import write

pytest.importorskip('sightplan_sim.sliding.world')

SUITE = load_suite('ivispar')
TRUTH = [['a1', 'red', 'cube'], ['a2', 'blue', 'sphere']]
"""What stands on the board of ``write``."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / 'data')


def item(folder: Path, split: str = 'boards_3d') -> Any:
    part, = load_samples(SUITE, split, {'data': str(folder)})
    return part.items[0]


def scored(sample: Any, text: str) -> dict[str, Any]:
    return score_reply(SUITE, sample, TRUTH, SampleReply(text))


# ---------------------------------------------------------------------------------- the samples


def test_each_of_the_papers_puzzles_is_one_sample_a_view() -> None:
    for split, view in (('boards_3d', '3d'), ('boards_2d', '2d')):
        part, = load_samples(SUITE, split, {})
        assert len(part.items) == 300 and part.identity['view'] == view and not part.skipped
        assert Counter(one.details['pieces'] for one in part.items) == dict.fromkeys(
            range(2, 12), 30)
        assert sum(len(part.truth(one.id)) for one in part.items) == 6.5 * 300
        words = part.items[0].parts[1]
        assert ('square, circle, triangle, hexagon' in words) is (view == '2d')
        assert ('cube, sphere, pyramid, cylinder' in words) is (view == '3d')


def test_a_picture_is_that_of_the_world_and_the_truth_is_not_in_the_sample(folder: Path) -> None:
    part, = load_samples(SUITE, 'boards_3d', {'data': str(folder), 'width': 96, 'height': 72})
    sample = part.items[0]
    picture, text = sample.parts
    image = picture.load()
    assert image.shape == (72, 96, 3) and (image == picture.load()).all()
    assert part.truth(sample.id) == TRUTH
    assert 'Is the red cube on cell A1?' in {one.text for one in sample.questions}
    assert len(sample.questions) == 4 * 16, 'every piece that may be there, on every cell'
    assert '2 x 2' in text and 'a1' not in text
    other, = load_samples(SUITE, 'boards_3d', {'data': str(folder), 'width': 96, 'height': 72,
                                               'seed': 1})
    assert (other.items[0].parts[0].load() != image).any(), 'another look'


def test_words_that_the_paper_has_not_are_offered_where_a_board_needs_them(tmp_path: Path) -> None:
    data = write(tmp_path / 'data', landmarks=[
        {'geom_nr': 1, 'body': 'prism', 'color': 'light blue', 'start_coordinate': [0, 0],
         'goal_coordinate': [1, 0]}], shortest_move_sequence=[], random_valid_move_sequence=[],
        random_invalid_move_sequence=[])
    sample = item(data)
    assert sample.details['colours'][4:] == ['light blue']
    assert sample.details['shapes'][4:] == ['prism']
    assert reading.read('Solution: a1 light blue prism', sample)['items'] == [
        ['a1', 'light blue', 'prism']]


def test_tiles_are_left_out_and_a_folder_of_tiles_alone_is_refused(tmp_path: Path) -> None:
    from sightplan_suites.ivispar.episodes import generate
    generate(tmp_path, 1, 0)
    part, = load_samples(SUITE, 'boards_2d', {'data': str(tmp_path)})
    assert len(part.items) == 1 and 'only tiles' in part.skipped[0]
    with pytest.raises(InputError, match='not one puzzle of coloured pieces'):
        load_samples(SUITE, 'boards_2d', {'data': str(tmp_path / 'sliding' / 'tiles')})


# ------------------------------------------------------------------------------------- replies


@pytest.mark.parametrize(('text', 'counts', 'cause'), [
    ('Solution: a1 red cube, a2 blue circle', {'correct': 2, 'whole': 1}, None),
    ('Solution: a1 red cube', {'correct': 1, 'missed': 1}, 'board_error'),
    ('Solution: a2 red cube, a1 blue sphere', {'coordinate': 2}, 'board_error'),
    ('Solution: a1 red cube, a2 blue sphere, b2 green cylinder',
     {'correct': 2, 'hallucinated': 1}, 'board_error'),
    ('Solution: a1 green cube, b2 blue sphere', {'colour': 1, 'coordinate': 1}, 'board_error'),
    ('Solution: a1 red cube, a2 blue sphere, b1 empty, c9 red cube',
     {'correct': 2, 'format': 2, 'E1': 1, 'E6': 1}, 'board_error'),
    ('a1 red cube, a2 blue sphere', {'format': 2, 'E8': 2, 'unread': 1}, 'unread'),
    ('Solution:', {'missed': 2}, 'board_error')])
def test_a_reply_is_counted_as_the_paper_counts(folder: Path, text: str,
                                                counts: dict[str, int], cause: str | None) -> None:
    found = scored(item(folder), text)
    known = {name: value for name, value in found['measures'].items()
             if value and name not in ('accuracy', 'pieces')}
    assert known == counts and found['cause'] == cause
    assert found['measures']['accuracy'] == counts.get('correct', 0) / 2


@pytest.mark.parametrize('by_piece', [False, True])
def test_a_list_of_every_piece_on_every_cell_is_worth_little(folder: Path, by_piece: bool) -> None:
    """Of more items than there are cells only so many can be right, however they are ordered."""
    sample = item(folder)
    known = vocabulary_of(sample)
    listed = [f'{cell} {colour} {shape}' for cell in cell_names(known.size)
              for colour in known.colours for shape in known.shapes]
    assert len(listed) == known.size ** 2 * 16
    if by_piece:
        listed.sort(key=lambda one: one.split()[1:], reverse=True)
    found = scored(sample, f'Solution: {", ".join(listed)}')['measures']
    assert found['accuracy'] <= 0.5 and found['whole'] == 0.0
    assert found['hallucinated'] >= len(listed) - known.size ** 2
    right = 'a1 red cube, a2 blue sphere'
    assert scored(sample, f'Solution: {right}, {", ".join(listed)}')['measures']['accuracy'] == 1.0
    wrong = [one for one in listed if one not in right]
    assert scored(sample, f'Solution: {", ".join(wrong)}, {right}')['measures']['accuracy'] == 0.0


def answers(sample: Any, chance: Any = None, yes: Any = ()) -> list[Answer]:
    """Answers to a sample's questions: by (piece, cell) their chance, or which are yes."""
    return [Answer('yes' if one.atom.args in yes else 'no',
                   None if chance is None else chance.get(one.atom.args, 0.01)
                   ) for one in sample.questions]


def test_yes_no_answers_become_items(folder: Path) -> None:
    sample = item(folder)
    likely = {('red_cube', 'a1'): 0.4, ('green_cube', 'a1'): 0.3, ('blue_sphere', 'a2'): 0.9,
              ('red_cube', 'b1'): 0.3}
    assert reading.compose(sample, answers(sample, likely)) == reading.read(
        'Solution: a1 red cube, a2 blue sphere', sample), (
        'what is likeliest, where something is likely')
    yes = {('red_cube', 'a1'), ('green_cube', 'a1')}
    assert reading.compose(sample, answers(sample, yes=yes)) == reading.read(
        'Solution: a1 green cube, a1 red cube', sample), (
        'without chances all that is said')


def test_the_shipped_reader_reads_pixels(tmp_path: Path) -> None:
    summary = run(RunSettings(suite='ivispar', split='boards_2d', method='ask', episodes=2,
                              out=str(tmp_path / 'run')))
    assert summary['measures']['accuracy']['value'] == 1.0
    line = RunStore(tmp_path / 'run').lines()[0]
    assert line['answer']['items'] and not line['reply'], 'data, nothing that was to be read'
    blind = run(RunSettings(suite='ivispar', split='boards_2d', method='blind', episodes=2,
                            out=str(tmp_path / 'blind')))
    assert blind['measures']['accuracy']['value'] == 0.0


@pytest.mark.parametrize(('table', 'view'), [
    ('sonnet-3.5', '2d'), *(pytest.param(*row, marks=pytest.mark.slow) for row in (
        ('perfect', '3d'), ('gpt-4o', '3d')))])
def test_published_errors_come_back(table: str, view: str, tmp_path: Path) -> None:
    """60 boards: numbers of tables 4 and 5 within what chance and the model of errors allow."""
    summary = run(RunSettings(
        suite='ivispar', split=f'boards_{view}', method='ask', backend='noisy_reader',
        suite_options={'width': 64, 'height': 64}, episodes=60,
        backend_options={'table': table} | ({'view': view} if table == 'gpt-4o' else {}),
        out=str(tmp_path / table)))
    assert RunStore(tmp_path / table).lines()[0]['model'].startswith(
        f'noisy_reader({table} {view}, '), 'the view that is shown, unless it is set'
    found = summary['measures']['accuracy']['value']
    paper = SUITE.published.find(table, 'inference', modality=view)
    assert found == pytest.approx(1.0 if paper is None else paper.value, abs=0.05)
    with pytest.raises(InputError, match='nothing is blind about it'):
        run(RunSettings(suite='ivispar', split=f'boards_{view}', method='blind', episodes=1,
                        backend='noisy_reader', out=str(tmp_path / f'{table}-blind')))


# ----------------------------------------------------------------------- both kinds in one suite


def test_the_split_says_which_kind(tmp_path: Path) -> None:
    kinds = {split: SUITE.kind_of(split) for split in ('geoms', 'tiles', 'all', 'boards_3d',
                                                       'boards_2d', 'samples', 'nonsense')}
    assert kinds == {'geoms': EPISODES, 'tiles': EPISODES, 'all': EPISODES, 'boards_3d': SAMPLES,
                     'boards_2d': SAMPLES, 'samples': SAMPLES, 'nonsense': EPISODES}
    for split, count in (('boards_3d', 300), ('samples', 600), ('all', 354)):
        plan = specify(RunSettings(suite='ivispar', domain='sliding', split=split,
                                   method='ask' if split != 'all' else 'astar'))
        assert (len(plan.items), plan.kind) == (count, SUITE.kind_of(split))
    for name in ('viplan', 'predicates'):
        suite = load_suite(name)
        assert {suite.kind_of(split) for split in ('all', 'samples', 'x')} == {suite.kind}
    settings = RunSettings(suite='ivispar', domain='sliding', split='boards_3d')
    with pytest.raises(InputError, match='split boards_3d of suite ivispar is one of samples'):
        suite_of(settings, load_domain('sliding'))
    with pytest.raises(InputError, match='has samples'):
        check_graph(RunSettings(suite='ivispar', split='boards_2d', method='ask'))
    check_graph(RunSettings(suite='ivispar', domain='sliding', split='geoms'))
    with pytest.raises(InputError, match=r'max_actions = 3 is about episodes, and split'):
        specify(RunSettings(suite='ivispar', split='boards_3d', method='ask', max_actions=3))


def test_a_sweep_may_have_both() -> None:
    sweep = parse_sweep({'base': {'suite': 'ivispar', 'domain': 'sliding'}, 'cells': [
        {'split': 'geoms', 'method': 'astar', 'backend': 'embedded'},
        {'split': 'boards_2d', 'method': 'ask', 'backend': 'embedded'}]}, 'both', 'here')
    assert [(cell.episodes, cell.settings.backend) for cell in sweep.cells] == [
        (300, RunSettings().backend), (300, 'embedded')]


def test_the_published_sampling_is_what_the_sweep_says() -> None:
    path = Path(__file__).parents[3] / 'config' / 'sweeps' / 'ivispar.yaml'
    sweep = parse_sweep(yaml.safe_load(path.read_text()), 'ivispar', str(path))
    assert len(sweep.cells) == 15
    for cell in sweep.cells:
        said = cell.content['backend']
        assert [said[name] for name in ('temperature', 'top_p', 'top_k')] == [1.0, 0.95, 50]
    prompts = [SUITE.folder / 'prompts' / 'ask.yaml',
               load_domain('sliding').folder / 'prompts' / 'action.yaml']
    assert [yaml.safe_load(path.read_text())['max_tokens'] for path in prompts] == [500, 500]


def test_predictions_of_either_kind_are_scored(folder: Path, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / 'predictions.jsonl'

    def score(*lines: dict[str, Any]) -> tuple[int, dict[str, Any], str]:
        path.write_text(''.join(json.dumps(line) + '\n' for line in lines))
        code = cli.main(['suite', 'ivispar', 'score', '--data', str(folder), '--predictions',
                         str(path), '--json'])
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]) if code == 0 else {}, err

    reply = {'id': 'boards_2d/hand', 'answer': 'Solution: a1 red square, b2 blue circle'}
    code, found, _ = score(reply)
    assert code == 0 and found['missing'] == ['boards_3d/hand']
    assert found['measures']['accuracy']['value'] == 0.5 and 'solved' not in found['measures']
    assert found['by_pieces']['02']['coordinate']['value'] == 1.0
    moves = {'id': 'hand', 'answer': ['move(red_cube, right)']}
    code, found, _ = score(moves)
    assert code == 0 and found['measures']['solved']['value'] == 1.0
    assert 'accuracy' not in found['measures'] and 'format_errors' not in found
    code, _, err = score(reply, moves)
    assert code == 2 and 'answer' in err, 'one file has one kind'


def test_a_list_of_suites_has_both(capsys: Any) -> None:
    assert cli.main(['suite', 'list', '--json']) == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[-1])['suites']
    own = next(one for one in listed if one['name'] == 'ivispar')
    assert own['kind'] == 'both' and own['primaries'] == ['solved', 'whole']
    assert own['splits'] == ['geoms', 'tiles', 'boards_3d', 'boards_2d']
    assert {'deviation', 'accuracy', 'hallucinated'} <= set(own['measures'])


# ----------------------------------------------------------------------- lists within episodes


def played(folder: Path, tmp_path: Path, *replies: str, name: str = 'run') -> dict[str, Any]:
    script = tmp_path / 'replies.yaml'
    script.write_text(yaml.safe_dump({'replies': list(replies), 'repeat': 'last'}))
    run(RunSettings(suite='ivispar', domain='sliding', problems=str(folder), method='action',
                    backend='scripted', backend_options={'script': str(script)}, max_actions=3,
                    world_options={'pictures': 'none'}, stop_at_goal='yes', goal='pictured',
                    out=str(tmp_path / name)))
    line, = RunStore(tmp_path / name).lines()
    return line


def test_lists_after_description_are_scored_against_the_board_of_their_step(
        folder: Path, tmp_path: Path) -> None:
    """The sphere goes right, stays, and goes back: its cell is a2, b2, b2."""
    line = played(
        folder, tmp_path,
        'action: move blue sphere right\ndescription: a1 red cube, a2 blue sphere',
        'description: a1 red cube, a2 blue sphere\naction: move red cube left',
        'Hm. action: move blue sphere left')
    assert [step['action'] for step in line['actions']] == [
        'move(blue_sphere, right)', 'move(red_cube, left)', 'move(blue_sphere, left)']
    first, second = line['details']['described']
    assert (first['step'], first['correct'], first['coordinate']) == (0, 2, 0)
    assert (second['step'], second['correct'], second['coordinate']) == (1, 1, 1)
    measures = {name.removeprefix('described_'): value
                for name, value in line['measures'].items() if name.startswith('described_')}
    assert measures == {'accuracy': 0.75, 'correct': 1.5, 'missed': 0.0, 'hallucinated': 0.0,
                        'coordinate': 0.5, 'colour': 0.0, 'shape': 0.0, 'format': 0.0}
    assert 'replies' not in line and 'description' not in json.dumps(line['actions'])


def test_without_lists_nothing_is_said_of_them_and_all_else_is_the_same(
        folder: Path, tmp_path: Path) -> None:
    replies = ['action: move blue sphere right', 'action: move red cube left', 'nonsense']
    plain = played(folder, tmp_path, *replies)
    listed = played(folder, tmp_path, *(
        f'{reply}\ndescription: b1 red cube, nonsense' for reply in replies), name='listed')
    assert 'described' not in plain['details']
    assert all(value is None for name, value in plain['measures'].items()
               if name.startswith('described_'))
    for key in ('distances', 'classes', 'pieces'):
        assert plain['details'][key] == listed['details'][key]
    for key in ('actions', 'proposals', 'steps', 'stop'):
        assert plain[key] == listed[key]
    assert listed['measures']['described_format'] == 1.0
    assert listed['measures']['described_missed'] == 1.0


def test_an_agent_is_told_nothing_more(folder: Path) -> None:
    """A sample shows its picture and the words that may be used; its questions ask about all."""
    shown = item(folder)
    texts = [part for part in shown.parts if not isinstance(part, Picture)]
    asked = {one.atom.args for one in shown.questions}
    every = {(f'{colour}_{shape}', cell) for colour, shape, cell in itertools.product(
        shown.details['colours'], shown.details['shapes'], ('a1', 'a2', 'b1', 'b2'))}
    assert asked == every and len(texts) == 1
    assert dataclasses.replace(shown, parts=()).blind().questions == shown.questions
