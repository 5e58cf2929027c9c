"""Readers of plain files: PDDL, YAML, JSON lines, calibrations, robots."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan_bench.hostile.targets import Outcome, Seed, Target, beside

_PROBLEM = 'problems/simple/a.pddl'
_DOMAINS = ('blocksworld', 'household', 'tabletop')


def folder_of(package: str) -> Path:
    """Folder of an installed package."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def command(*arguments: str) -> Outcome | None:
    """Run ``sightplan`` in this process, as a user would.

    Raises:
        InputError: it says that the usage or a file is bad; its words.
    """
    from sightplan import cli
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main([*arguments])
    said.getvalue().encode()  # or a terminal could not show it
    if code == 2:
        raise InputError(said.getvalue())
    return Outcome.SKIPPED if code else None


def _first_lines(path: Path, most: int = 100) -> Path:
    """A file without its further lines: some are not read but worked on, each for a while."""
    path.write_bytes(b'\n'.join(path.read_bytes().split(b'\n')[:most]))
    return path


def make(folder: Path) -> list[Target]:
    """Readers of files, as targets; those of a run need the files of ``bags.prepare``."""
    run = beside(folder / 'run') if (folder / 'run').is_dir() else {}
    return [*_pddl(), *_yaml(), *_lines(run), *_calibrations(), *_robots()]


# ------------------------------------------------------------------------------------------ PDDL


@functools.cache
def _domain(name: str) -> Any:
    from sightplan.domains import load_domain
    return load_domain(name)


def _used(domain: Any, problem: Any) -> None:
    """Use a problem as runs do before an episode."""
    model = domain.model(problem)
    asked = domain.worth_asking(problem)
    for atom in asked[:20]:
        domain.question(atom)
    for action in model.actions[:20]:
        model.applicable(action, problem.init)
    domain.goal_text(problem)
    again = domain.parse_problem(domain.write_problem(problem), problem.name)
    if (again.objects, again.init, again.goal) != (problem.objects, problem.init, problem.goal):
        raise AssertionError('the problem is another one when it is written and read again')


def _pddl() -> Iterator[Target]:
    from sightplan.domains import Domain
    for name in _DOMAINS:
        domain = _domain(name)
        problems = [path.read_bytes() for split in domain.splits[:3]
                    for path in domain.problem_files(domain.split_folder(split))[:2]]

        def problem(path: Path, domain: Any = domain) -> None:
            _used(domain, domain.read_problem(path))

        def other_domain(path: Path, domain: Any = domain) -> None:
            _used(Domain(domain.folder, path), domain.split_problems(domain.splits[0])[0])

        yield Target(f'problem of {name}', 'pddl', 'pddl', tuple(
            Seed(content, 'problem.pddl') for content in problems), problem, turns=3)
        text = (domain.folder / 'domain.pddl').read_bytes()
        yield Target(f'domain file of {name}', 'pddl', 'pddl', (Seed(text, 'other.pddl'),),
                     other_domain)
    yield Target('domain folder', 'pddl', 'pddl', tuple(
        Seed(folder['domain.pddl'], 'domain.pddl', folder, '') for folder in _folders().values()),
        _whole_domain)
    domain = _domain('blocksworld')
    first = domain.problem_files(domain.split_folder('simple'))[0].read_bytes()
    yield Target('sightplan problems list', 'pddl', 'pddl', (Seed(first, 'a.pddl', {}, ''),),
                 lambda path: command('problems', 'list', '--problems', str(path),
                                      '--domain', 'blocksworld'))


@functools.cache
def _folders() -> dict[str, dict[str, bytes]]:
    """Domain folders with one problem, without their code."""
    found = {}
    for name in _DOMAINS:
        domain = _domain(name)
        files = {file: content for file, content in beside(domain.folder).items()
                 if Path(file).suffix in ('.pddl', '.yaml', '.json') and 'problems/' not in file}
        problem = domain.problem_files(domain.split_folder(domain.splits[0]))[0]
        found[name] = {**files, _PROBLEM: problem.read_bytes()}
    return found


def _whole_domain(folder: Path) -> None:
    """Read a domain's folder, and all that is in it."""
    from sightplan.domains import Domain
    from sightplan_belief.constraints import read_constraints
    from sightplan_belief.priors import check_calibrations, read_priors
    domain = Domain(folder)
    problem = domain.read_problem(folder / _PROBLEM)
    _used(domain, problem)
    read_constraints(domain)
    read_priors(domain)
    check_calibrations(domain)
    for name in domain.prompt_names:
        with contextlib.suppress(InputError):  # raised for files of another kind
            domain.grounding_prompt(name, problem=problem)
        with contextlib.suppress(InputError):
            domain.planning_prompt(name, problem)


# ------------------------------------------------------------------------------------------ YAML


def _yaml() -> Iterator[Target]:
    from sightplan.graphs.graph import load_graph
    from sightplan.model.paths import config_files
    from sightplan.model.plugins import Folder
    from sightplan.queries.pointing import FOLDER, load_family
    from sightplan.runs.suite_finding import load_suite, suite_names
    from sightplan.runs.suite_folder import read_suite
    from sightplan.sweeps.cells import read_sweep
    from sightplan_suites.paths.scenarios import FILE, load_scenarios

    for file in ('domain', 'questions', 'goal', 'prompts', 'constraints', 'priors'):
        yield Target(f'{file}.yaml of a domain', 'yaml', 'yaml', tuple(
            Seed(folder[f'{file}.yaml'], f'{file}.yaml', folder, '')
            for folder in _folders().values() if f'{file}.yaml' in folder), _whole_domain)

    def files(paths: Sequence[Path], name: str) -> tuple[Seed, ...]:
        return tuple(Seed(path.read_bytes(), name) for path in paths)

    suites = [load_suite(name).folder for name in suite_names()]
    yield Target('suite.yaml', 'yaml', 'yaml', tuple(
        Seed((folder / 'suite.yaml').read_bytes(), 'suite.yaml', {}, '') for folder in suites),
        lambda folder: _ignore(read_suite(Folder.at(folder))), turns=3)
    yield Target('prompts of a suite', 'yaml', 'yaml', files(
        [path for folder in suites for path in sorted(folder.glob('prompts/*.yaml'))], 'ask.yaml'),
        _suite_prompt, turns=3)
    yield Target('published.json', 'yaml', 'json', tuple(
        Seed(_rows(folder / 'published.json'), 'published.json',
             {'suite.yaml': (folder / 'suite.yaml').read_bytes()}, '')
        for folder in suites if (folder / 'published.json').is_file()), _published, turns=3)
    sweeps = sorted(config_files('sweeps').values(), key=lambda path: path.stat().st_size)
    yield Target('sweep', 'yaml', 'yaml', files(sweeps[:3], 'sweep.yaml'),
                 lambda path: _ignore(read_sweep(path)))
    yield Target('graph', 'yaml', 'yaml', files([*config_files('graphs').values()], 'graph.yaml'),
                 lambda path: _ignore(load_graph(path)), turns=3)
    yield Target('pointing family', 'yaml', 'yaml', files(
        [path for path in sorted(FOLDER.glob('*.yaml')) if path.stem != 'common'], 'family.yaml'),
        lambda path: _ignore(load_family(str(path))), turns=3)
    yield Target('scenarios', 'yaml', 'yaml', files([FILE], 'scenarios.yaml'),
                 lambda path: _ignore(load_scenarios(path)), turns=3)
    yield Target('script of replies', 'yaml', 'yaml', (
        Seed(_SCRIPT, 'script.yaml'), Seed(b'[yes, no, "Answer: c1", {plan: []}]', 'script.yaml')),
        _script, turns=3)


def _ignore(found: object) -> None:
    """Ignore a value; it was read for its errors alone."""


def _rows(path: Path) -> bytes:
    """The beginning of published numbers: the whole takes long to spoil."""
    data = json.loads(path.read_bytes())
    return json.dumps({**data, 'rows': data['rows'][:12]}).encode()


def _suite_prompt(path: Path) -> None:
    from sightplan.model.reading import read_file
    from sightplan.runs.suite_parts import SuitePrompt
    read_file(SuitePrompt, path)


def _published(folder: Path) -> None:
    from sightplan.model.plugins import Folder
    from sightplan.runs.suite_folder import read_suite
    suite = read_suite(Folder.at(folder))
    _ignore(suite.published.models)
    suite.published.find('gpt-4o', 'solved', domain='blocksworld')
    _ignore(suite.published.methods)
    suite.published.model_name('gpt-4o')


_SCRIPT = b'''\
answers: {"Is r on g?": yes, default: {text: "No", p_yes: 0.1, p_no: 0.9}}
replies: {default: ["{\\"plan\\": []}", {plan: [{action: moveblock, parameters: {block: r}}]}]}
locate: {the mug: ["[[0.1, 0.2]]"], default: "[0.1, 0.2, 0.3, 0.4]"}
coordinates: unit_xy
resized: [644, 476]
repeat: last
'''


def _script(path: Path) -> None:
    import numpy as np

    from sightplan.model import BackendError, Form, Target
    from sightplan.model.query import ask_one
    from sightplan.queries import Generate, Locate
    from sightplan.vlm import make_backend
    backend: Any = make_backend('scripted', {'script': str(path)})
    with contextlib.suppress(BackendError):  # there is no such reply, or none any more
        ask_one(backend, Generate('', ('what?',)))
        ask_one(backend, Locate(np.zeros((8, 8, 3), np.uint8), Target('the mug', Form.POINT)))


# ----------------------------------------------------------------------------------------- lines


def _lines(run: Mapping[str, bytes]) -> Iterator[Target]:
    from sightplan.records.answers_reading import read_answers
    from sightplan_report.labelling.labels import read_labels
    domain = _domain('blocksworld')
    path = domain.problem_files(domain.split_folder('simple'))[0]
    problem = {'p.pddl': path.read_bytes()}
    one, two, three = map(str, domain.worth_asking(domain.read_problem(path))[:3])
    about = {'episode': 'simple/a', 'problem': 'a', 'domain': 'blocksworld', 'model': 'm',
             'questions_sha256': '0' * 12, 'prompt': 'ground@0123456789ab', 'image': '7'}
    answers = _jsonl([
        {'atom': one, 'answer': 'yes', 'p_yes': 0.9, 'p_no': 0.1, 'truth': True, **about},
        {'atom': two, 'answer': 'No.', 'truth': False, **about},
        {'atom': three, 'answer': None, 'truth': True, **about},
        {'action': 'moveblock(r, c1)', 'status': 'executed', 'before': [one, two],
         'after': [one], 'episode': 'simple/a', 'domain': 'blocksworld'}])
    scene = _jsonl([{'atom': one, 'answer': 'yes', 'image': '1'},
                    {'atom': two, 'answer': 'no', 'p_yes': 0.2, 'p_no': 0.8}])
    cases = _jsonl([{'id': 1, 'problem': 'p.pddl', 'answers': {one: 'yes', two: None}},
                    {'id': 'b', 'answers': [{'atom': three, 'answer': 'no'}],
                     'problem': problem['p.pddl'].decode()}])

    def skipping(path: Path) -> Outcome | None:
        wrong: list[InputError] = []
        read_answers(path, wrong.append)
        for error in wrong:
            str(error).encode()
        return Outcome.SKIPPED if wrong else None

    yield Target('answers', 'lines', 'lines', (Seed(answers, 'answers.jsonl'),),
                 lambda path: _ignore(read_answers(path)), turns=3)
    yield Target('answers, wrong lines left out', 'lines', 'lines',
                 (Seed(answers, 'answers.jsonl'),), skipping, turns=3)
    yield Target('sightplan calibrate --answers', 'lines', 'lines',
                 (Seed(answers.rpartition(b'{')[0], 'answers.jsonl'),), lambda path: command(
                     'calibrate', '--answers', str(path), '--out', str(path.parent / 'c.json')))
    yield Target('sightplan estimate --answers', 'lines', 'lines',
                 (Seed(scene, 'answers.jsonl', problem),), lambda path: command(
                     'estimate', '--answers', str(path), '--problem',
                     str(path.parent / 'p.pddl'), '--json'))
    yield Target('sightplan estimate --cases', 'lines', 'lines',
                 (Seed(cases, 'cases.jsonl', problem),), lambda path: command(
                     'estimate', '--cases', str(_first_lines(path)), '--json'))
    yield Target('labels', 'lines', 'lines', (Seed(_jsonl([
        {'who': 'a', 'atom': 'on r,g', 'image': '1' * 12, 'label': 'yes', 'stamp_ns': 5,
         'time': '2026-01-01T00:00:00+00:00', 'question': 'is it?', 'bag': 'a'},
        {'who': 'b', 'atom': 'on r,g', 'image': '1' * 12, 'label': 'unclear'},
        {'atom': 'clear r', 'image': '2', 'label': None}]),
        'labels.jsonl'),), lambda path: _ignore(read_labels(path)), turns=3)
    yield Target('replay of answers', 'lines', 'lines', (Seed(_ANSWERS, 'answers.jsonl', {
        'replay.json': json.dumps({'format': 3, 'identity': {}, 'sessions': []}).encode()}, ''),),
        _answers_store, turns=3)
    recordings = [_RECORDING, *(content for name, content in run.items()
                                if name.endswith('replies.jsonl'))]
    yield Target('recording of a model', 'lines', 'lines', tuple(
        Seed(content[:30_000].rpartition(b'\n')[0], 'model.jsonl') for content in recordings),
        _recording, turns=3)
    if run:
        own = {name: content for name, content in run.items() if '/' not in name}
        for name, form in (('episodes.jsonl', 'lines'), ('run.json', 'json')):
            yield Target(f'{name} of a run', 'lines', form, (Seed(own[name], name, own, ''),),
                         _run)
        yield Target('sightplan failures', 'lines', 'lines', (
            Seed(own['episodes.jsonl'], 'episodes.jsonl', own, ''),),
            lambda path: command('failures', str(path)))
        yield Target('sightplan calibrate --run', 'lines', 'lines', (
            Seed(own['answers.jsonl'], 'answers.jsonl', own, ''),), lambda path: command(
                'calibrate', '--run', str(path), '--out', str(path / 'made.json')))


def _answers_store(folder: Path) -> None:
    from sightplan.replay.answers_store import AnswersStore
    with AnswersStore(folder) as store:
        store.open({}, {})
        store.update_truths({('a', 'simple/a', 0, 0): (True, False)})


def _run(folder: Path) -> Outcome | None:
    """Read a run as a report does."""
    from sightplan_report.results import gather
    found = gather([folder])
    for run in found.runs:
        _ignore(run.summary)
        _ignore(list(run.answers()))
    for warning in found.warnings:
        warning.encode()
    return Outcome.SKIPPED if found.warnings else None


def _recording(path: Path) -> None:
    """Read a recording, and replay from it."""
    import numpy as np

    from sightplan.model import BackendError, Form
    from sightplan.model import Target as Wanted
    from sightplan.model.query import ask_one
    from sightplan.queries import Generate, Locate
    from sightplan.vlm import make_backend
    backend: Any = make_backend('replay', {'path': str(path)})
    with contextlib.suppress(BackendError):
        ask_one(backend, Locate(np.zeros((8, 8, 3), np.uint8), Wanted('mug', Form.POINT)))
    with contextlib.suppress(BackendError):
        ask_one(backend, Generate('', ('what?',)))


def _jsonl(rows: Sequence[object]) -> bytes:
    return b''.join(json.dumps(row).encode() + b'\n' for row in rows)


_USAGE = {'requests': 1, 'prompt_tokens': 10, 'completion_tokens': 2, 'cost_usd': 0.001}
_BOX = {'form': 'box', 'points': [[0.1, 0.2], [0.3, 0.4]], 'label': ''}
_RECORDING = _jsonl([
    {'kind': 'recording', 'format': 4, 'model': 'm@1', 'backend': 'openai', 'settings': {},
     'counted': True, 'accepts': ['*'], 'texts': True},
    {'kind': 'episode', 'episode': 'simple/a'},
    *({'kind': 'reply', 'query': kind, 'episode': 'simple/a', 'key': f'k{number}',
       'images': ['i1'], 'content': {}, 'reply': reply, 'usage': _USAGE}
      for number, (kind, reply) in enumerate((
          ('yes_no', {'text': 'Yes', 'p_yes': 0.9, 'p_no': 0.1}),
          ('text', {'text': '{"plan": []}', 'truncated': True}),
          ('locate', {'regions': [_BOX], 'text': '[]', 'probability': 0.5, 'unread': '',
                      'rounded': 0, 'model': 'm@1'}),
          ('check', {'text': 'Yes', 'p_yes': 0.9}),
          ('choice', {'probabilities': [0.5, 0.5], 'chosen': 0, 'text': 'A'}),
          ('detect', {'detections': [{'region': _BOX, 'categories': {'mug': 0.9},
                                      'colours': {'red': 0.8}, 'probability': 0.7}]})))),
    {'kind': 'failure', 'episode': 'simple/a', 'keys': ['k7', 'k8'], 'images': ['i1'],
     'error': 'BackendError', 'message': 'no answer', 'usage': _USAGE}])
_ANSWERS = _jsonl([
    {'bag': 'a', 'episode': 'simple/a', 'attempt': 0, 'batch': 0, 'number': number, 'of': 2,
     'atom': atom, 'answer': 'yes', 'p_yes': 0.9, 'p_no': 0.1, 'truth': True, 'image': 'i',
     'model': 'm', 'domain': 'blocksworld', 'problem': 'p', 'prompt': ''}
    for number, atom in enumerate(('on r,g', 'clear r'))])


# ------------------------------------------------------------- calibrations of answers and cameras


_CAMERA = b"""\
image_width: 640
image_height: 480
camera_name: wrist
camera_matrix:
  rows: 3
  cols: 3
  data: [600.0, 0.0, 320.0, 0.0, 600.0, 240.0, 0.0, 0.0, 1.0]
distortion_model: plumb_bob
distortion_coefficients:
  rows: 1
  cols: 5
  data: [0.01, -0.02, 0.0, 0.0, 0.0]
"""
_ECHOED = b"""\
header: {stamp: {sec: 1, nanosec: 2}, frame_id: camera}
height: 480
width: 640
distortion_model: plumb_bob
d: [0.0, 0.0, 0.0, 0.0, 0.0]
k: [600.0, 0.0, 320.0, 0.0, 600.0, 240.0, 0.0, 0.0, 1.0]
r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
p: [600.0, 0.0, 320.0, 0.0, 0.0, 600.0, 240.0, 0.0, 0.0, 0.0, 1.0, 0.0]
---
"""


def _calibrations() -> Iterator[Target]:
    from sightplan.model.paths import config_files
    robots = config_files('robots')
    rates = [path.read_bytes() for name in ('household', 'sliding') for path in sorted(
        (_domain(name).folder / 'calibrations').glob('*.json'))]
    yield Target('calibration of answers', 'calibrations', 'json', (
        *(Seed(content, 'calibration.json') for content in rates),), _rates, turns=3)
    yield Target('calibration of a camera', 'calibrations', 'yaml', (
        Seed(_CAMERA, 'camera.yaml'), Seed(_ECHOED, 'camera.yaml')), _camera, turns=3)
    if 'panda' in robots:
        yield Target('pose of a camera, written', 'calibrations', 'yaml', (
            Seed(robots['panda'].read_bytes(), 'panda.yaml'),), _write_pose,
            turns=2)
        yield Target('sightplan arm calibrate --points', 'calibrations', 'yaml', (
            Seed(_touched(), 'points.yaml', {'camera.yaml': _CAMERA}),), _touches)


def _rates(path: Path) -> None:
    from sightplan.model import Answer, Verdict
    from sightplan_belief.observation_model import read_observation_model
    found = read_observation_model(path)
    for predicate in ('on', 'inside', 'at'):
        for last in Verdict:
            found.log_likelihoods(predicate, Answer('Yes', 0.9, 0.1), last)
        _ignore(found.action(predicate))
    with contextlib.suppress(InputError):  # raised for answers of another model
        found.check('m', _domain('household'))


def _camera(path: Path) -> None:
    from sightplan_arm.camera_files import checked_camera, read_camera_info
    info = read_camera_info(path)
    checked_camera(info.matrix, info.distortion)


def _write_pose(path: Path) -> None:
    import numpy as np

    from sightplan_arm.camera_files import write_camera_pose
    pose = np.eye(4)
    pose[:3, 3] = 0.1, 0.2, 0.9
    write_camera_pose(path, pose, 'calibrated')


def _touched() -> bytes:
    """Places and their pixels, as a camera above the table sees them."""
    rows = []
    for x in (-0.2, 0.0, 0.2):
        for y in (0.1, 0.3, 0.45):
            for z in (0.02, 0.2):
                away = 1.2 - z
                rows.append({'xyz': [x, y, z], 'pixel': [320 + 600 * x / away,
                                                         240 - 600 * (y - 0.25) / away]})
    return json.dumps({'points': rows}).encode()


def _touches(path: Path) -> Outcome | None:
    return command('arm', 'calibrate', '--robot', 'panda', '--points', str(path),
                   '--camera-info', str(path.parent / 'camera.yaml'))


# ---------------------------------------------------------------------------------------- robots


def _robots() -> Iterator[Target]:
    from sightplan.model.paths import config_files
    from sightplan_arm.config import load_robot
    urdfs = folder_of('sightplan_arm') / 'urdf'
    robots = {name: path.read_bytes() for name, path in config_files('robots').items()}
    if not robots:
        return
    yield Target('robot', 'robots', 'yaml', tuple(
        Seed(content, f'{name}.yaml') for name, content in robots.items()),
        lambda path: _ignore(load_robot(str(path))), turns=2)
    seeds = []
    for name, content in robots.items():
        urdf = next(line for line in content.decode().splitlines() if line.startswith('urdf:'))
        file = urdfs / f'{urdf.split()[1]}.urdf'
        own = content.decode().replace(urdf, f'urdf: ./{file.name}').encode()
        seeds.append(Seed(file.read_bytes(), file.name, {f'{name}.yaml': own}, f'{name}.yaml'))
    yield Target('urdf of a robot', 'robots', 'text', tuple(seeds),
                 lambda path: _ignore(load_robot(str(path))), turns=2)
