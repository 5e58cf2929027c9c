"""``sightplan failures``: table, page, pictures, and pictures from bags."""

import io
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rosbags.typesys import Stores, get_typestore

from doubles import MemoryWorld, SearchPlanner, TruthGrounder, spec_of
from report_cases import sample, write_run
from sightplan.agent import make_policy, run_episode
from sightplan.cli import main
from sightplan.metrics import RULES, EpisodeScorer, wilson
from sightplan.model import EpisodeStarted, InfrastructureError, Observation, Observed
from sightplan.records import RunStore
from sightplan.records.bag import BagWriter, MessageTypes
from sightplan.records.evidence import FailureImages, failure_picture
from sightplan.records.failure_picture import captioned, shown_answers
from sightplan.records.pictures import bag_image
from sightplan.runs import RunSettings, run
from sightplan_report.commands.failures import rules_table
from sightplan_report.failures import Column, FailedEpisode
from test_metrics_failures import G2, R2, Proposer, episode, imagines, says

GOAL = ('incolumn r,c2', 'incolumn g,c2', 'on g,r', 'clear g')


def decode_png(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'))


class PictureWorld(MemoryWorld):
    """Its images are large enough to be pictures."""

    pictures = True

    def observe(self):
        seen = super().observe()
        image = np.repeat(np.repeat(seen.image, 30, axis=0), 40, axis=1)
        return Observation(image, seen.stamp_ns, 'camera')


def store(folder, *lines, **identity):
    with RunStore(folder) as runs:
        runs.open(identity)
        for number, line in enumerate(lines):
            runs.append({**line, 'id': f'blocksworld/simple/problem_{number:02}#0',
                         'split': 'simple'})
    return folder


@pytest.fixture
def ground(tmp_path):
    return store(tmp_path / 'ground', episode(), episode(change=says('no', 'clear g', since=3)),
                 episode(change=imagines(GOAL)), episode(change=imagines(GOAL)))


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv('COLUMNS', '200')


@pytest.fixture
def plan(tmp_path):
    return store(tmp_path / 'plan', episode('plan', proposer=Proposer(G2), max_actions=6),
                 episode('plan', proposer=Proposer(R2, G2)))


def test_the_table_counts_causes_by_run(ground, plan, capsys):
    assert main(['failures', str(ground), str(plan)]) == 0
    out = capsys.readouterr().out
    low, high = wilson(2, 3)
    assert f'2: 0.67 ({low:.2f}-{high:.2f})' in out
    assert 'goal_misjudged' in out and 'repeated_illegal' in out
    assert '3 / 4' in out and '1 / 2' in out
    assert 'scripted planner' in out


def test_json_holds_all(ground, plan, capsys):
    assert main(['failures', str(ground), str(plan), '--json']) == 0
    first, second = json.loads(capsys.readouterr().out)['runs']
    assert (first['run'], first['method'], first['split'], first['episodes'], first['solved'],
            first['failed']) == ('ground', 'ground', 'simple', 4, 1, 3)
    assert first['causes']['goal_misjudged'] == {
        'count': 2, 'fraction': pytest.approx(2 / 3), 'interval95': pytest.approx(wilson(2, 3))}
    assert list(second['causes']) == ['repeated_illegal']
    failure = first['failures'][0]
    assert failure['cause'] == 'precondition_judged_false' and failure['stop'] == 'no_plan'
    assert failure['evidence']['answers'][0]['question']


def test_rounds_of_a_problem_do_not_count_as_independent():
    def failed(cause, cluster):
        return FailedEpisode(Path('run'), {'cluster': cluster, 'failure': {'cause': cause}})
    rounds = [failed('a' if problem % 2 else 'b', f'p{problem}')
              for problem in range(6) for _ in range(5)]
    fraction = Column('run', 'm', '', 's', 30, 0, rounds).fraction('a')
    assert fraction.rate == .5 and fraction.interval[0] < wilson(15, 30)[0] - .1
    apart = [failed(episode.failure['cause'], str(k)) for k, episode in enumerate(rounds)]
    assert Column('run', 'm', '', 's', 30, 0, apart).fraction('a').interval == wilson(15, 30)


def test_json_of_one_cause(ground, capsys):
    assert main(['failures', str(ground), '--json', '--cause', 'goal_misjudged']) == 0
    run_, = json.loads(capsys.readouterr().out)['runs']
    assert len(run_['failures']) == 2 and run_['failed'] == 3


def test_one_episode_is_shown_with_answers_and_actions(ground, capsys):
    assert main(['failures', str(ground), '--episode', 'problem_01']) == 0
    out = capsys.readouterr().out
    assert 'precondition: Is the green block the topmost of its column? no (truth: yes)' in out
    assert '>   1 moveblock(g, c2): withheld' in out
    assert '    0 moveblock(r, c2): executed, success' in out
    assert 'problem_02' not in out


def test_a_cause_that_did_not_occur_says_so(ground, capsys):
    assert main(['failures', str(ground), '--cause', 'oscillation']) == 0
    assert 'no episode failed of oscillation' in capsys.readouterr().out


def test_runs_below_a_directory_are_found(ground, plan, tmp_path, capsys):
    assert main(['failures', str(tmp_path), '--json']) == 0
    assert [r['run'] for r in json.loads(capsys.readouterr().out)['runs']] == ['ground', 'plan']


def test_a_run_below_without_an_episode_is_left_out(ground, tmp_path, capsys):
    store(tmp_path / 'begun')
    assert main(['failures', str(tmp_path), '--json']) == 0
    out, err = capsys.readouterr()
    assert [r['run'] for r in json.loads(out)['runs']] == ['ground']
    assert 'begun: has no finished episode yet' in err
    assert main(['failures', str(tmp_path), str(tmp_path / 'begun')]) == 2, 'it is named itself'


def test_samples_stand_beside_episodes_with_the_causes_of_their_suite(ground, tmp_path, capsys):
    write_run(tmp_path / 'samples', [sample(0), sample(1, False), sample(2, True, 'Perhaps')],
              kind='samples', suite='predicates', method='ask')
    assert main(['failures', str(tmp_path), '--json']) == 0
    episodes, samples = json.loads(capsys.readouterr().out)['runs']
    assert 'solved' in episodes and samples['samples'] == 3 and samples['right'] == 1
    assert {name: one['count'] for name, one in samples['causes'].items()} == {
        'false_positive': 1, 'unread': 1}
    assert main(['failures', str(tmp_path / 'samples'), '--cause', 'unread']) == 0
    out = capsys.readouterr().out
    assert 'could not be read' in out and 'Perhaps' in out and 'on b2,c1' in out


def test_without_any_finished_episode_there_is_nothing_to_count(tmp_path, capsys):
    store(tmp_path / 'runs' / 'begun')
    assert main(['failures', str(tmp_path / 'runs')]) == 2
    assert 'no run has a finished episode yet' in capsys.readouterr().err


@pytest.mark.parametrize(('arguments', 'message'), [
    (['{tmp}/nothing'], 'is not a directory'), (['{tmp}/empty'], 'holds no run'),
    ([], 'name at least one run'), (['{tmp}/fresh'], 'no finished episode'),
    (['{tmp}/broken'], 'episodes.jsonl:1: is not JSON'),
    (['{tmp}/ground', '--episode', 'problem_77'], "with 'problem_77'; failed are: blocksworld"),
    (['{tmp}/ground', '--html', '{tmp}/no/where.html'], 'No such file')])
def test_what_is_wrong_is_said_without_a_traceback(arguments, message, ground, tmp_path, capsys):
    for name in ('empty', 'broken'):
        (tmp_path / name).mkdir()
    (tmp_path / 'broken' / 'episodes.jsonl').write_text('rubbish\n{}\n')
    store(tmp_path / 'fresh')
    code = 1 if '--html' in arguments else 2  # a file that cannot be written is no bad usage
    assert main(['failures', *(a.format(tmp=tmp_path) for a in arguments)]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize('change', [
    {'failure': {'cause': 5}}, {'model': 7}, {'measures': None}, {'actions': [{}]}])
def test_a_line_with_a_wrong_field_is_named(change, ground, capsys):
    path = ground / 'episodes.jsonl'
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1] |= change
    path.write_text(''.join(json.dumps(line) + '\n' for line in lines))
    assert main(['failures', str(ground)]) == 2
    err = capsys.readouterr().err
    assert f'{path}: episode 2: {next(iter(change))}' in err and 'remove its line' in err


def test_an_unknown_cause_is_refused(ground, capsys):
    assert main(['failures', str(ground), '--cause', 'goal_misjuged']) == 2
    err = capsys.readouterr().err
    assert 'is unknown' in err and "did you mean 'goal_misjudged'" in err


def test_the_rules_are_printed(capsys):
    assert main(['failures', '--rules']) == 0
    out = capsys.readouterr().out
    assert all(rule.when in out and f'`{rule.cause.value}`' in out for rule in RULES)


# Pictures in process

@pytest.fixture
def with_pictures(tmp_path):
    """A run of one episode that fails and one that does not, over a world with pictures."""
    world = PictureWorld()
    scorer, images = EpisodeScorer(world), FailureImages(tmp_path / 'run')

    class Both:
        def record(self, event):
            scorer.record(event)
            images.record(event)
    with RunStore(tmp_path / 'run') as runs:
        runs.open({})
        for name, change in (('a b/ä#0', says('no', 'clear g', since=3)), ('fine#0', None)):
            run_episode(spec_of(id=name), make_policy('ground'), world,
                        TruthGrounder(world, change), SearchPlanner(), Both(), world.domain)
            line = scorer.result()
            images.commit(line)
            runs.append(line)
    return tmp_path / 'run'


def test_a_failed_episode_leaves_its_picture(with_pictures):
    files = list((with_pictures / 'failures').iterdir())
    assert [f.name for f in files] == ['a_b_ä_0.png']
    failed, fine = RunStore(with_pictures).lines()
    assert failed['failure']['picture'] == 'failures/a_b_ä_0.png' and fine['failure'] is None
    picture = decode_png(files[0].read_bytes())
    assert picture.shape[1] == 480 and picture.shape[0] > 360 + 60, 'enlarged, with a caption'
    shown = picture[:360:180, :480:240]
    world = PictureWorld()
    world.reset(spec_of(id='a b/ä#0'))
    world.execute(R2)
    seen = world.observe()
    assert seen.image_id == failed['failure']['image_id'], 'the look after the first move'
    assert np.array_equal(shown, seen.image[::30, ::40])


def test_pictures_are_embedded_in_a_page_that_needs_no_other_file(with_pictures, tmp_path):
    out = tmp_path / 'page.html'
    assert main(['failures', str(with_pictures), '--html', str(out)]) == 0
    text = out.read_text()
    assert text.count('src="data:image/jpeg;base64,') == 1
    assert '://' not in text and '<script' not in text and '<link' not in text
    assert 'Is the green block the topmost of its column?' in text
    assert 'class="here"' in text and 'moveblock(g, c2)' in text
    check_html(text)


def check_html(text):
    """Every element that is opened is closed, in order."""
    class Checker(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attributes):
            if tag not in ('meta', 'img'):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag
    checker = Checker()
    checker.feed(text)
    assert checker.open == []


def test_what_a_model_wrote_cannot_break_the_page(tmp_path):
    from sightplan.model import Proposal, ProposalStatus
    nasty = '<script>alert("x")</script>{0}&'
    line = episode('plan', max_actions=4, proposer=Proposer(
        Proposal(ProposalStatus.UNKNOWN_ACTION, named=nasty, message='unknown'),
        Proposal(ProposalStatus.UNPARSED, text=nasty, message='no JSON')))
    folder = store(tmp_path / 'nasty', line)
    assert main(['failures', str(folder), '--html', str(tmp_path / 'p.html')]) == 0
    text = (tmp_path / 'p.html').read_text()
    assert '<script' not in text and '&lt;script&gt;' in text
    check_html(text)


def test_pictures_can_be_written(with_pictures, tmp_path, capsys):
    assert main(['failures', str(with_pictures), '--pictures', str(tmp_path / 'shots')]) == 0
    assert [p.name for p in (tmp_path / 'shots').iterdir()] == ['run.a_b_ä_0.png']
    assert '1 of 1 failures have a picture' in capsys.readouterr().err


def test_worlds_without_pictures_leave_none(tmp_path):
    images = FailureImages(tmp_path)
    images.record(EpisodeStarted(spec_of()))
    tiny = Observation(np.zeros((2, 2, 3), np.uint8), 1)
    images.record(Observed(tiny))
    line = episode(change=imagines(GOAL))
    line['failure']['image_id'] = tiny.image_id
    images.commit(line)
    assert list(tmp_path.iterdir()) == [] and 'picture' not in line['failure']


def test_only_the_last_observations_are_kept(tmp_path):
    images = FailureImages(tmp_path, most=2)
    images.record(EpisodeStarted(spec_of()))
    looks = [Observation(np.full((40, 40, 3), shade, np.uint8), shade) for shade in (1, 2, 3)]
    line = episode(change=imagines(GOAL))
    for look in (looks[0], looks[1], looks[0], looks[2]):  # the first one was seen again
        images.record(Observed(look))
    for look, kept in zip(looks, (True, False, True), strict=True):
        line['failure'].pop('picture', None)
        line['failure']['image_id'] = look.image_id
        images.commit(line)
        assert ('picture' in line['failure']) is kept
    images.record(EpisodeStarted(spec_of()))
    line['failure'].pop('picture')
    images.commit(line)
    assert 'picture' not in line['failure'], 'a new episode forgets'


def test_a_full_disk_is_told(tmp_path):
    images = FailureImages(tmp_path / 'a file')
    (tmp_path / 'a file').write_text('')
    look = Observation(np.zeros((40, 40, 3), np.uint8), 1)
    images.record(Observed(look))
    line = episode(change=imagines(GOAL))
    line['failure']['image_id'] = look.image_id
    with pytest.raises(InfrastructureError, match='cannot be written'):
        images.commit(line)


@pytest.mark.parametrize('wanted', [True, False])
def test_the_runner_writes_pictures_unless_told_not_to(tmp_path, wanted):
    done = run(RunSettings(method='idle', backend='noisy_oracle', episodes=1, out=str(tmp_path),
                           failure_images=wanted), world=PictureWorld())
    assert done['failures']['causes'] == {'stopped_early': 1}
    done = run(RunSettings(method='ground', backend='noisy_oracle', episodes=2, max_actions=1,
                           backend_options={'table': 'perfect'}, out=str(tmp_path / 'ground'),
                           failure_images=wanted), world=PictureWorld())
    assert done['failures']['causes'] == {'budget': 2}
    assert len(list(tmp_path.glob('ground/failures/*.png'))) == (2 if wanted else 0)


def test_many_wrong_answers_are_cut():
    line = episode(change=imagines(()))
    line['failure']['evidence']['answer_count'] = 99
    few = decode_png(captioned(np.zeros((40, 700, 3), np.uint8), episode(change=imagines(GOAL))))
    many = decode_png(captioned(np.zeros((40, 700, 3), np.uint8), line))
    assert few.shape[1] == many.shape[1] == 700 and few.shape[0] < many.shape[0] < 600


def test_a_caption_lists_only_the_answers_about_its_image(tmp_path):
    line = episode(change=imagines(GOAL))
    first, *others = line['failure']['evidence']['answers']
    assert {a['image_id'] for a in others} == {first['image_id']}
    assert shown_answers(line['failure']) == ([first, *others], '')
    for answer in others[1:]:
        answer['image_id'] = 'another'
    assert shown_answers(line['failure']) == (
        [first, others[0]], '... and 2 more wrong answers (some about other images)')
    folder = store(tmp_path / 'run', line)
    assert main(['failures', str(folder), '--html', str(tmp_path / 'p.html')]) == 0
    assert (tmp_path / 'p.html').read_text().count('(another image)') == 2


# Pictures from bags

def image_message(image, stamp_ns, encoding='rgb8', padding=0):
    types = get_typestore(Stores.ROS2_JAZZY).types
    rows, columns = image.shape[:2]
    data = image.reshape(rows, -1)
    data = np.hstack([data, np.zeros((rows, padding), np.uint8)])
    header = types['std_msgs/msg/Header'](
        types['builtin_interfaces/msg/Time'](stamp_ns // 10**9, stamp_ns % 10**9), 'camera')
    return types['sensor_msgs/msg/Image'](header, rows, columns, encoding, 0, data.shape[1],
                                          data.reshape(-1))


@pytest.fixture
def bag(tmp_path):
    """A bag of three images at 1, 2 and 3 s."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(3)]
    types = MessageTypes()
    writer = BagWriter(tmp_path / 'run' / 'bags' / 'e')
    topic = writer.add_topic('/camera/image_raw', types.get('sensor_msgs/msg/Image'))
    messages = [image_message(images[0], 10**9), image_message(images[1], 2 * 10**9, padding=7),
                image_message(images[2][:, :, ::-1], 3 * 10**9 + 5, 'bgr8')]
    for number, message in enumerate(messages):
        writer.write(topic, number, bytes(types.store.serialize_cdr(
            message, 'sensor_msgs/msg/Image')))
    writer.close()
    return writer.folder, images


def test_an_image_is_found_in_a_bag_by_its_stamp(bag):
    folder, images = bag
    for image, stamp_ns in zip(images, (10**9, 2 * 10**9, 3 * 10**9 + 5), strict=True):
        assert np.array_equal(bag_image(folder, stamp_ns), image)
        assert bag_image(folder, stamp_ns, Observation(image).image_id) is not None
        assert bag_image(folder, stamp_ns, 'another') is None
    assert bag_image(folder, 77) is None


@pytest.mark.parametrize('names', [('raw', 'labelled'), ('labelled', 'raw')])
def test_of_a_time_the_picture_with_labels_is_preferred(tmp_path, names):
    rng, types = np.random.default_rng(0), MessageTypes()
    images = {name: rng.integers(0, 256, (40, 50, 3), np.uint8) for name in names}
    writer = BagWriter(tmp_path / 'e')
    for number, (name, image) in enumerate(images.items()):
        topic = writer.add_topic(f'/camera/image_{name}', types.get('sensor_msgs/msg/Image'))
        writer.write(topic, number, bytes(types.store.serialize_cdr(
            image_message(image, 10**9), 'sensor_msgs/msg/Image')))
    writer.close()
    assert np.array_equal(bag_image(writer.folder, 10**9), images['labelled'])
    for image in images.values():
        assert np.array_equal(
            bag_image(writer.folder, 10**9, Observation(image).image_id), image)


def test_a_missing_or_broken_bag_has_no_image(bag, tmp_path):
    assert bag_image(tmp_path / 'nowhere', 10**9) is None
    folder, _ = bag
    path = folder / f'{folder.name}.mcap'
    path.write_bytes(path.read_bytes()[:200])
    assert bag_image(folder, 10**9) is None


def test_a_failure_on_ros_is_shown_from_its_bag(bag, tmp_path, capsys):
    _, images = bag
    line = episode(change=imagines(GOAL))
    line['failure']['image_id'] = Observation(images[1]).image_id
    line['failure']['evidence']['stamp_ns'] = 2 * 10**9
    line['bag'] = 'bags/e'
    store(tmp_path / 'run', line)
    picture = failure_picture(tmp_path / 'run', line)
    assert np.array_equal(decode_png(picture)[:400:10, :500:10], images[1])
    assert main(['failures', str(tmp_path / 'run'), '--html', str(tmp_path / 'p.html')]) == 0
    assert 'data:image/jpeg' in Path(tmp_path / 'p.html').read_text()
    line['failure']['evidence']['stamp_ns'] = 5
    assert failure_picture(tmp_path / 'run', line) is None


# The document

def test_the_documented_rules_are_those_of_the_code():
    text = (Path(__file__).parents[3] / 'docs' / 'failures.md').read_text()
    assert rules_table() in text, 'run python studies/failures_study.py'
