"""What other packages and folders bring: domains, worlds, backends and methods."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from doubles import PANTRY
from sightplan import cli
from sightplan.agent import make_policy, method_names, policy_settings
from sightplan.domains import SymbolicWorld, domain_names, domain_reference, load_domain
from sightplan.domains import domain as domain_module
from sightplan.model import (
    Action,
    DomainError,
    EpisodeSpec,
    FeedbackStatus,
    InputError,
    TruthSource,
    World,
    WorldError,
    plugins,
)
from sightplan.queries import Locate
from sightplan.runs import worlds
from sightplan.vlm import backend_names, make_backend
from sightplan.vlm.api import backends_that_answer, check_backend

BACKEND = '''
from dataclasses import dataclass
from sightplan.queries import YesNo
@dataclass(frozen=True)
class Settings:
    pass
class Backend:
    accepts = frozenset({YesNo})
    name, usage = 'mine', None
    def __init__(self, settings): pass
    def ask(self, queries, deadline): return []
'''


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages: writes modules, folders and entry points."""
    folder = tmp_path / 'site'
    info = folder / 'stranger-1.0.dist-info'
    info.mkdir(parents=True)
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n')
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(domain_module, '_found', {})
    before = set(sys.modules)

    def install(points: str, **modules: str) -> Path:
        (info / 'entry_points.txt').write_text(points)
        for name, text in modules.items():
            (folder / f'{name}.py').write_text(text)
        return folder
    yield install
    for name in set(sys.modules) - before:
        if name.startswith(('stranger', 'sightplan_folder')):
            del sys.modules[name]


def test_a_backend_of_another_package_is_like_ours(site):
    site('[sightplan.backends]\nstranger_eyes = stranger_eyes\n', stranger_eyes=BACKEND)
    assert 'stranger_eyes' in backend_names()
    assert make_backend('stranger_eyes').name == 'mine'


@pytest.mark.parametrize(('text', 'message'), [
    ('raise RuntimeError("no driver")', 'RuntimeError: no driver'),
    ('Settings = 1', 'has no class Backend; add it to stranger_bad'),
    ('class Settings: pass\nclass Backend: name = 1',
     'has a class Backend without accepts; inherit from .*ModelByKind, .*@answers')])
def test_a_broken_backend_names_its_package_and_leaves_the_others_alone(site, text, message):
    site('[sightplan.backends]\nstranger_bad = stranger_bad\n', stranger_bad=text)
    assert {'embedded', 'stranger_bad'} <= set(backend_names())
    with pytest.raises(InputError, match=message) as caught:
        make_backend('stranger_bad')
    assert 'package stranger (sightplan.backends: stranger_bad = stranger_bad)' in str(
        caught.value)
    assert make_backend('noisy_oracle', {}, SymbolicWorld()).name


def test_a_backend_whose_entry_point_names_its_class_is_told_to_name_the_module(site):
    site('[sightplan.backends]\nstranger_eyes = stranger_eyes:Backend\n', stranger_eyes=BACKEND)
    with pytest.raises(InputError, match="names 'Backend' of a module, not the module; write "
                                         'stranger_eyes = stranger_eyes, whose'):
        make_backend('stranger_eyes')


def test_a_broken_backend_does_not_take_listings_with_it(site, caplog):
    site('[sightplan.backends]\nstranger_sick = stranger_sick\n',
         stranger_sick='import nosuchmodule')
    assert 'openai' in backends_that_answer(Locate)
    with pytest.raises(InputError, match='cannot point at things; choose one that can: .*openai'):
        check_backend('noisy_oracle', Locate)
    assert caplog.text.count('nosuchmodule') == 1, 'said once'


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('def ask', 'def aks', r'has no method ask; add ask\(self, queries: Sequence'),
    ('def ask(self, queries, deadline): return []', 'ask = 7', 'has no method ask; add'),
    ('name, usage', 'naam, usage', 'has no attribute name; add it: Exact name and version')])
def test_a_backend_that_lacks_a_part_is_refused_when_it_is_made(site, old, new, message):
    assert old in BACKEND
    site('[sightplan.backends]\nstranger_part = stranger_part\n',
         stranger_part=BACKEND.replace(old, new))
    with pytest.raises(InputError, match=f"'stranger_part': stranger_part.Backend {message}"):
        make_backend('stranger_part')


def test_a_backend_that_takes_no_settings_is_refused_in_words(site):
    site('[sightplan.backends]\nstranger_eyes = stranger_eyes\n',
         stranger_eyes='from sightplan_models.scripted import Settings\n'
                       'from sightplan.model.query import ModelByKind\n'
                       "class Backend(ModelByKind):\n    name = 'mine'\n")
    with pytest.raises(InputError, match=r'stranger_eyes.Backend does not take its settings; '
                                         r'add def __init__\(self, settings\)'):
        make_backend('stranger_eyes', {})


@pytest.mark.parametrize(('part', 'message'), [
    ('decide', r'method decide; add decide\(self, context: WorldContext\) -> Decision'),
    ('learn', 'method learn; add'), ('begin', 'method begin; add'),
    ('remaining', 'attribute remaining; add it: Actions of the current plan')])
def test_a_method_that_lacks_a_part_is_refused_when_it_is_made(site, part, message):
    parts = {'begin': 'def begin(self, context): pass', 'learn': 'def learn(self, *a): pass',
             'decide': 'def decide(self, context): pass', 'remaining': 'remaining = 0'}
    text = ('from sightplan.agent import PolicyBase\n'
            'from sightplan.agent.methods.idle import Settings\n'
            'class Policy(PolicyBase):\n    def __init__(self, s): pass\n')
    lines = {name: f'    {line}\n' for name, line in parts.items()}
    site('[sightplan.methods]\nstranger_whole = stranger_whole\nstranger_bit = stranger_bit\n',
         stranger_whole=text + ''.join(lines.values()),
         stranger_bit=text + ''.join(line for name, line in lines.items() if name != part))
    assert type(make_policy('stranger_whole')).__name__ == 'Policy'
    with pytest.raises(InputError, match=f"'stranger_bit': stranger_bit.Policy has no {message}"):
        make_policy('stranger_bit')


def test_a_method_of_another_package_is_like_ours(site):
    site('[sightplan.methods]\nstranger_idle = stranger_idle\n',
         stranger_idle='from sightplan.agent.methods.idle import Policy, Settings\n')
    assert 'stranger_idle' in method_names()
    assert type(policy_settings('stranger_idle')).__name__ == 'NoSettings'


def test_ours_cannot_be_replaced(site):
    site('[sightplan.backends]\nembedded = stranger_eyes\n', stranger_eyes=BACKEND)
    assert make_backend('embedded', {'domain': 'blocksworld'}).name != 'mine'


def test_a_domain_of_another_package_has_its_name_modules_and_world(site):
    folder = site('[sightplan.domains]\nlarder = stranger_home.store\n'
                  '[sightplan.worlds]\nlarder = stranger_home.look:make\n')
    shutil.copytree(PANTRY, folder / 'stranger_home' / 'store')
    (folder / 'stranger_home' / '__init__.py').touch()
    (folder / 'stranger_home' / 'look.py').write_text(
        'from sightplan.domains import SymbolicWorld\n'
        'class Larder(SymbolicWorld): pass\n'
        'def make(size=1):\n    return Larder()\n')
    (folder / 'stranger_home' / 'store' / 'drawing.py').write_text(
        'from ..look import Larder\nLINE = "drawn"\n')
    domain = load_domain('larder')
    assert 'larder' in domain_names() and domain.name == domain.reference == 'larder'
    drawing = domain.part('drawing')
    assert drawing.__name__ == 'stranger_home.store.drawing' and drawing.LINE == 'drawn'
    world = worlds.make_world('larder', {'size': 2})
    assert type(world) is drawing.Larder
    with pytest.raises(InputError, match='world larder: options .*colour'):
        worlds.make_world('larder', {'colour': 'red'})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A domain's folder that nothing declares."""
    monkeypatch.setattr(domain_module, '_found', {})
    return Path(shutil.copytree(PANTRY, tmp_path / 'larder'))


def test_a_folder_is_a_domain_from_any_working_directory(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert domain_reference('./larder') == str(folder)
    domain = load_domain('larder')
    assert (domain.name, domain.reference) == ('larder', str(folder))
    problem = domain.split_problems(domain.splits[0])[0]
    assert problem.domain == str(folder) and problem.domain_name == 'larder'
    monkeypatch.chdir('/')
    assert load_domain(problem.domain).folder == folder
    with pytest.raises(DomainError, match="domain 'larder' is unknown; choose one of"):
        load_domain('larder')


@pytest.mark.parametrize(('kind', 'package'), [
    ('backend', 'sightplan_models'), ('method', 'sightplan_belief'),
    ('world', 'sightplan_sim'), ('suite', 'sightplan_suites')])
def test_an_unknown_name_may_be_one_of_a_package_that_is_not_installed(monkeypatch, kind, package):
    assert package not in str(plugins.unknown(kind, 'what', ['other']))
    monkeypatch.setattr(plugins.importlib.util, 'find_spec', lambda name: None)
    said = str(plugins.unknown(kind, 'what', []))
    assert 'none is installed' in said and said.endswith(f'(pip install {package})')
    assert 'pip' not in str(plugins.unknown('graph', 'what', ['other']))


def test_a_flag_with_the_name_of_a_method_that_is_not_installed(monkeypatch, capsys):
    monkeypatch.setattr(plugins.importlib.util, 'find_spec', lambda name: None)
    with pytest.raises(SystemExit):
        cli.main(['run', '--method', 'nothing_of_ours'])
    assert 'pip install sightplan_belief' in capsys.readouterr().err


def test_modules_of_a_folder_import_their_neighbours_and_say_what_is_wrong(folder):
    (folder / 'drawing.py').write_text('from . import words\ndef draw(): return words.HERE\n')
    (folder / 'words.py').write_text('HERE = "here"\n')
    (folder / 'generator.py').write_text('import no_such_library\n')
    domain = load_domain(str(folder))
    assert domain.part('drawing').draw() == 'here'
    assert domain.part('drawing') is domain.part('drawing')
    assert domain.part('nothing') is None
    with pytest.raises(InputError, match=r'generator\.py: cannot be imported: ModuleNotFound'):
        _ = domain.generator


def test_a_generator_without_a_part_is_refused_and_needs_no_splits(folder):
    (folder / 'generator.py').write_text('Settings = generate = object\n')
    domain = load_domain(str(folder))
    with pytest.raises(InputError, match=r'generator\.py: has no write_folder; add it'):
        _ = domain.generator
    domain.part('generator').write_folder = object
    assert not domain.generator.SPLITS and domain.generator.optimal_plan is None


def test_a_folder_without_problems_says_where_they_belong(folder, capsys):
    shutil.rmtree(folder / 'problems')
    (folder / 'domain.yaml').unlink()
    message = (rf'domain larder has no problems: {folder}/problems holds no folder '
               rf'\(put problem files into {folder}/problems/NAME')
    with pytest.raises(InputError, match=message):
        load_domain(str(folder)).split_problems('easy')
    for command in (['prompts', str(folder), '--method', 'plan'],
                    ['problems', 'list', '--domain', str(folder)],
                    ['problems', 'show', '--domain', str(folder), 'easy/x'],
                    ['run', '--domain', str(folder), '--method', 'oracle', '--split', 'all']):
        assert cli.main(command) == 2
        words = 'a problem such as SPLIT/NAME' if 'show' in command else 'larder has no problems'
        assert words in capsys.readouterr().err
    (folder / 'domain.yaml').write_text('splits: [easy]')
    domain_module._load.cache_clear()
    with pytest.raises(InputError, match="split 'easy' of domain larder: .*/easy is missing"):
        load_domain(str(folder)).split_problems('easy')


def test_what_is_missing_in_a_folder_is_named(tmp_path):
    (tmp_path / 'empty').mkdir()
    for name in (f'{tmp_path}/empty', f'{tmp_path}/nowhere'):
        with pytest.raises(DomainError, match=r'domain\.pddl is missing; give the folder'):
            load_domain(name)


def test_a_folder_must_not_have_the_name_of_an_installed_domain(tmp_path):
    ours = load_domain('blocksworld').folder
    shutil.copytree(ours, tmp_path / 'blocksworld')
    with pytest.raises(DomainError, match='is the name of another domain.*rename the folder'):
        load_domain(f'{tmp_path}/blocksworld')
    assert domain_reference(str(ours)) == 'blocksworld', 'ours by its path is ours'


def test_a_changed_copy_may_use_the_world_of_another_domain(tmp_path):
    shutil.copytree(load_domain('blocksworld').folder, tmp_path / 'cubes')
    path = tmp_path / 'cubes' / 'domain.yaml'
    domain = load_domain(str(tmp_path / 'cubes'))
    world = worlds.make_world(domain.reference, {'pictures': 'none'})
    assert type(world).__name__ == 'BlocksworldWorld'
    problem = domain.split_problems('simple')[0]
    world.reset(EpisodeSpec('e', problem, 'idle'))
    assert world.state() == problem.init
    world.close()
    shutil.copytree(tmp_path / 'cubes', tmp_path / 'dice')
    other = tmp_path / 'dice' / 'domain.yaml'
    other.write_text(path.read_text().replace('world: blocksworld', 'world: blokworld'))
    with pytest.raises(InputError, match="domain.yaml: world = 'blokworld' is not installed"):
        worlds.make_world(str(tmp_path / 'dice'))


def spec(domain, probability=0.0, seed=1):
    problem = domain.split_problems(domain.splits[0])[0]
    return EpisodeSpec('e', problem, 'idle', seed=seed, failure_probability=probability)


def test_a_domain_without_a_world_is_kept_by_its_pddl(folder):
    domain = load_domain(str(folder))
    world = worlds.make_world(domain.reference)
    assert isinstance(world, World) and isinstance(world, TruthSource)
    assert not world.pictures
    with pytest.raises(WorldError, match='reset the world first'):
        world.state()
    episode = spec(domain)
    world.reset(episode)
    model = domain.model(episode.problem)
    before = world.observe()
    legal = next(a for a in model.actions if model.applicable(a, episode.problem.init))
    illegal = next(a for a in model.actions if not model.applicable(a, episode.problem.init))
    assert world.execute(illegal).status is FeedbackStatus.REJECTED
    assert (world.last_outcome(), world.state()) == ('illegal', episode.problem.init)
    assert world.execute(Action('fly', ())).status is FeedbackStatus.REJECTED
    done = world.execute(legal)
    assert done.status is FeedbackStatus.EXECUTED and world.last_outcome() == 'success'
    assert world.state() == model.apply(legal, episode.problem.init)
    assert world.state(before.stamp_ns) == episode.problem.init
    assert world.state(done.stamp_ns) == world.state()
    with pytest.raises(WorldError, match='no state at'):
        world.state(done.stamp_ns + 10**12)


def test_a_symbolic_world_fails_as_often_as_it_is_told(folder):
    domain = load_domain(str(folder))
    world, outcomes = SymbolicWorld(), []
    for seed in range(200):
        episode = spec(domain, 0.3, seed)
        world.reset(episode)
        model = domain.model(episode.problem)
        world.execute(next(a for a in model.actions if model.applicable(a, episode.problem.init)))
        outcomes.append(world.last_outcome())
        assert (world.state() == episode.problem.init) is (outcomes[-1] == 'no_op')
    assert 40 <= outcomes.count('no_op') <= 80
    with pytest.raises(WorldError, match=r'not in \[0, 1\]'):
        world.reset(spec(domain, 1.5))


def test_a_world_py_is_made_with_its_options_and_part_of_the_identity(folder):
    (folder / 'world.py').write_text(
        'import numpy as np\n'
        'from sightplan.domains import SymbolicWorld\n'
        'class Dark(SymbolicWorld):\n'
        '    def __init__(self, kind):\n        super().__init__()\n        self.kind = kind\n'
        '    def picture(self, problem, state):\n'
        '        return np.zeros((4, 4, 3), self.kind)\n'
        'def make_world(kind="uint8"):\n    return Dark(kind)\n')
    world = worlds.make_world(str(folder))
    assert world.pictures
    world.reset(spec(load_domain(str(folder))))
    assert world.observe().image.shape == (4, 4, 3)
    wrong = worlds.make_world(str(folder), {'kind': 'float32'})
    wrong.reset(spec(load_domain(str(folder))))
    with pytest.raises(WorldError, match=r'picture must return an array of shape \(H, W, 3\)'):
        wrong.observe()
    first = worlds.world_identity(str(folder), {'kind': 'uint8'})
    assert first['kind'] == 'uint8' and len(first['sha256']) == 12
    (folder / 'world.py').write_text('# changed\n' + (folder / 'world.py').read_text())
    assert worlds.world_identity(str(folder), {})['sha256'] != first['sha256']
