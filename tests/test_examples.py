"""What examples/ holds is run by tests, and found from each page that names an interface."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from sightplan.records.bag_reading import open_bag

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, INTERFACES = ROOT / 'examples', ROOT / 'src' / 'sightplan_interfaces'
PAGES = sorted({ROOT / 'README.md', *ROOT.glob('docs/*.md'), *ROOT.glob('src/**/README.md')})
RENAMED = {'ResetWorld': 'reset', 'ProposePlan': 'plan'}
"""Services whose names do not follow from their types."""
TOPICS = {'Asked': 'asked', 'Belief': 'belief', 'EpisodeEvent': 'episode',
          'Observation': 'observation', 'PlanStamped': 'plan', 'Step': 'step',
          'ProposalStamped': 'proposal', 'Adopted': 'adopted'}
"""Topics of the agent by their types."""
NODES = ('agent', 'arm_bridge', 'arm_watcher', 'experiment', 'grounder', 'metrics_recorder',
         'path_critic', 'sim_bridge', 'symbolic_planner', 'vlm_planner')


def called(kind: str) -> str:
    """What a service or action of a type is called, without the name of its node."""
    return RENAMED.get(kind) or re.sub(r'(?<!^)(?=[A-Z])', '_', kind).lower()


CALLS = {kind: called(kind) for folder in ('srv', 'action')
         for kind in sorted(file.stem for file in (INTERFACES / folder).glob('*'))}
ACTIONS = '|'.join(called(file.stem) for file in (INTERFACES / 'action').glob('*'))
NAMED = re.compile(rf'(?<![\w/.-])/?(?:~|{"|".join(NODES)})/(?P<call>'
                   rf'{"|".join(sorted({*CALLS.values(), *TOPICS.values()}))})(?![\w/.])'
                   rf'|`(?P<action>{ACTIONS})`')
TYPED = re.compile(r'sightplan_interfaces/(?:srv|action|msg)/(?P<kind>[A-Z]\w+)')
LINK = re.compile(r'\]\((?:\.\./)+examples/([\w.]+)\)')


def interfaces(text: str) -> set[str]:
    """The names of services, actions and topics of ours in a text, without those of nodes."""
    kinds = {found['kind'] for found in TYPED.finditer(text)}
    return ({found['call'] or found['action'] for found in NAMED.finditer(text)}
            | {(CALLS | TOPICS)[kind] for kind in kinds & {*CALLS, *TOPICS}})


def used(example: str) -> set[str]:
    """The names of the services, actions and topics that a program of examples/ uses."""
    text = (EXAMPLES / example).read_text('utf-8')
    return interfaces(text) | {name for kind, name in (CALLS | TOPICS).items()
                               if re.search(rf'\b{kind}\b', text)}


def test_the_recorded_paths_are_those_of_their_script(tmp_path):
    subprocess.run([sys.executable, EXAMPLES / 'record_paths.py', tmp_path / 'three_paths'],
                   check=True)
    shipped, made = (list(open_bag(folder / 'three_paths').messages())
                     for folder in (EXAMPLES, tmp_path))
    assert shipped == made and len(shipped) == 4


def test_the_names_are_those_that_the_nodes_use():
    from sightplan_nodes import names
    known = {value.rpartition('/')[2] for value in vars(names).values() if isinstance(value, str)}
    known |= {make(names.SIM_BRIDGE).rpartition('/')[2] for make in (
        names.load_problem, names.reset, names.get_view, names.confirm)}
    own = {'run_experiment', 'provide_facts', 'tell_apart', 'compare_paths'}  # of one node alone
    assert {*CALLS.values(), *TOPICS.values()} - own <= known
    assert {'ground', 'run_episode', 'belief'} <= interfaces(
        'the `~/ground` of one, sightplan_interfaces/action/RunEpisode, and agent/belief')
    assert not interfaces('runs/ground, plan/belief, ground, sightplan_interfaces')


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_that_names_an_interface_links_to_a_client_of_it(page: Path) -> None:
    text = page.read_text('utf-8')
    named, linked = interfaces(text), LINK.findall(text)
    for example in linked:
        assert (EXAMPLES / example).is_file(), f'there is no examples/{example}'
    assert not named or any(named & used(example) for example in linked), (
        f'{page.relative_to(ROOT)} names {", ".join(sorted(named))}: link to a client of it in '
        'examples/')


def test_every_program_is_run_by_a_test():
    tests = '\n'.join(file.read_text('utf-8') for folder in (
        ROOT / 'tests', ROOT / 'src' / 'sightplan_nodes' / 'test')
        for file in folder.rglob('*.py') if file != Path(__file__))
    tests += Path(__file__).read_text('utf-8').partition('def test_')[2]
    programs = [file for file in sorted(EXAMPLES.glob('*.py'))
                if "if __name__ == '__main__'" in file.read_text('utf-8')]
    missing = [file.name for file in programs
               if not re.search(rf'\b{file.stem}\b', tests)]
    assert programs and missing == []


def test_of_all_plans_the_one_that_is_followed_is_shown(capsys) -> None:
    pytest.importorskip('rclpy')
    from sightplan_interfaces.msg import PlanStamped, Step, SymbolicAction
    follow = runpy.run_path(str(EXAMPLES / 'follow_belief.py'))['follow']
    a, b, c = (SymbolicAction(name='moveblock', args=args.split())
               for args in ('r c1', 'g c2', 'p c3'))
    plans = {('', 'e', number): PlanStamped(actions=actions) for number, actions in enumerate(
        ([a, b], [c, a], [a, b, c], [c]), 1)}
    plans['before', 'e', 6] = PlanStamped(actions=[a])
    plans['', 'e', 6] = PlanStamped(actions=[c])  # of an earlier episode of the same name
    steps = [Step(episode_id='e', plan=3, action=a), Step(episode_id='e', plan=3, action=b),
             Step(episode_id='e', plan=6, action=a)]
    follow(steps, plans)
    assert len(steps) == 1, 'its plan is still to come'
    plans['', 'e', 6] = PlanStamped(actions=[a, b])
    follow(steps, plans)
    assert capsys.readouterr().out.splitlines() == [
        'plan: moveblock(r, c1) moveblock(g, c2) moveblock(p, c3)',
        'plan: moveblock(g, c2) moveblock(p, c3)', 'plan: moveblock(r, c1) moveblock(g, c2)']
    assert not steps
