"""The simulated planner: kinds of errors, their persistence, tables, and what it refuses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles import MemoryWorld, SearchPlanner, TruthGrounder, spec_of, two_blocks
from sightplan.agent import make_policy, run_episode
from sightplan.domains import InstantiatedModel
from sightplan.metrics import EpisodeScorer
from sightplan.model import InputError, PastStep, Proposal, ProposalStatus, VisualTask
from sightplan.model.query import Model, ask_one, can_ask, close
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.queries import Generate, Propose, YesNo
from sightplan.vlm.api import check_backend, make_backend
from sightplan_models._planner_rates import bundled, load_table

METHODS = ('plan', 'plan_cot', 'action', 'action_cot')
MODEL = InstantiatedModel(two_blocks())


@pytest.fixture
def world() -> MemoryWorld:
    made = MemoryWorld()
    made.reset(spec_of())
    return made


@pytest.fixture
def noisy(tmp_path: Path, world: MemoryWorld) -> Iterator[Callable[..., Model]]:
    """Makes simulated planners of a table with these fields, or of a named one."""
    made: list[Model] = []

    def make(table: str = '', seed: int = 0, **fields: Any) -> Model:
        path = tmp_path / f'table{len(made)}.json'
        path.write_text(json.dumps(fields))
        made.append(make_backend('noisy_planner', {'table': table or str(path), 'seed': seed},
                                 world))
        return made[-1]
    yield make
    for model in made:
        close(model)


def proposals(model: Model, world: MemoryWorld, count: int, method: str = 'plan',
              episode: str = 'e') -> list[Proposal]:
    """The proposals of a simulated planner in an episode whose state does not change."""
    planner = BackendVisualPlanner(model, world.domain)
    world.episode_id = episode  # a source of truth that knows its episode decides
    planner.start_episode(episode, 'simple')
    return [planner.propose(world.observe(), VisualTask(
        two_blocks().for_agent(), method, tuple(PastStep('x', 'y') for _ in range(step))))
        for step in range(count)]


@pytest.mark.parametrize('method', METHODS)
def test_without_errors_it_solves_in_the_fewest_actions(noisy: Any, method: str) -> None:
    world = MemoryWorld()
    model = make_backend('noisy_planner', {}, world)
    scorer = EpisodeScorer(world)
    run_episode(spec_of(method=method), make_policy(method), world, TruthGrounder(world),
                SearchPlanner(), scorer, world.domain,
                visual_planner=BackendVisualPlanner(model, world.domain))
    close(model)
    line = scorer.result()
    # At the goal it proposes nothing, as the method asks where the episode does not end by itself.
    assert (line['measures']['solved'], line['stop'], line['executed']) == (1.0, 'empty_plan', 2)
    assert line['proposals'] == {'planned': 2, 'empty': 1} and line['repaired'] == 0
    assert line['model'] == 'noisy_planner(perfect, repeat 0, seed 0)'


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize(('kind', 'status'), [
    ('illegal', ProposalStatus.PLANNED), ('wrong_name', ProposalStatus.WRONG_ARGUMENTS),
    ('unreadable', ProposalStatus.UNPARSED), ('empty', ProposalStatus.EMPTY)])
def test_each_kind_of_error_is_read_as_such(noisy: Any, world: MemoryWorld, method: str,
                                            kind: str, status: ProposalStatus) -> None:
    model = noisy(errors={'default': 1.0}, shares={kind: 1.0})
    found, = proposals(model, world, 1, method)
    assert found.status is status and not found.repaired
    if kind == 'illegal':
        assert not MODEL.applicable(found.actions[0], world.state())
    # The paper's figure 8: reasons that go on until the limit of tokens.
    assert bool(found.cut_at) is (kind == 'unreadable' and method.endswith('_cot'))


def test_failed_actions_are_tried_again_alone_or_in_turn(noisy: Any, world: MemoryWorld) -> None:
    model = noisy(errors={'default': 1.0}, shares={'illegal': 1.0}, repeat=1.0)
    patterns = []
    for episode in range(40):
        names = [one.named for one in proposals(model, world, 4, episode=str(episode))]
        assert names[:2] == names[2:]
        patterns.append(len(set(names)))
    assert 10 < patterns.count(1) < 30 and patterns.count(1) + patterns.count(2) == 40


def test_errors_come_as_often_and_last_as_long_as_the_table_says(noisy: Any,
                                                                 world: MemoryWorld) -> None:
    model = noisy(errors={'simple': 0.3, 'hard': 0.9}, shares={'unreadable': 1.0}, repeat=0.8)
    wrong = [one.status is ProposalStatus.UNPARSED for episode in range(60)
             for one in proposals(model, world, 20, episode=str(episode))]
    after_right = [b for n, (a, b) in enumerate(itertools.pairwise(wrong))
                   if not a and n % 20 != 19]
    after_wrong = [b for n, (a, b) in enumerate(itertools.pairwise(wrong))
                   if a and n % 20 != 19]
    assert sum(after_right) / len(after_right) == pytest.approx(0.3, abs=0.06)
    # Again the same, or drawn anew: .8 + .2 * .3.
    assert sum(after_wrong) / len(after_wrong) == pytest.approx(0.86, abs=0.05)


def test_one_seed_gives_the_same_replies_and_another_one_others(noisy: Any, world: MemoryWorld,
                                                                ) -> None:
    fields = {'errors': {'default': 0.5}}
    texts = [[one.text for one in proposals(noisy(seed=seed, **fields), world, 12)]
             for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_it_answers_no_questions_and_writes_nothing_else(noisy: Any) -> None:
    model = noisy('perfect')
    assert can_ask(model, Propose) and not can_ask(model, Generate) and not can_ask(model, YesNo)
    check_backend('noisy_planner', Propose)
    with pytest.raises(InputError, match='noisy_oracle'):
        check_backend('noisy_planner', YesNo)
    with pytest.raises(InputError, match="no queries of kind 'text', only Propose"):
        ask_one(model, Generate('', ('Go.',)))


@pytest.mark.parametrize(('table', 'name'), [
    ('InternVL3-78B', 'InternVL3 78B'), ('google/gemma-3-27b-it', 'Gemma-3 27B'),
    ('gpt-5.2', 'GPT-5.2'), ('Qwen3-VL 32B', 'Qwen3-VL 32B')])
def test_models_are_known_by_the_names_that_other_backends_know(table: str, name: str) -> None:
    assert load_table(table).name == name


def test_what_is_missing_is_named(noisy: Any, world: MemoryWorld, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no table 'gpt-99'.*perfect, .*GPT-4.1"):
        noisy('gpt-99')
    with pytest.raises(InputError, match='no success of Molmo 7B with method .action.*'
                                         r'another model \(.*Gemma-3 27B'):
        proposals(noisy('Molmo-7B-D-0924'), world, 1, 'action')
    with pytest.raises(InputError, match='no rates for domain .sliding'):
        load_table('gpt-4.1').error('sliding', 'plan', 'simple')
    with pytest.raises(InputError, match='add up to 0.5'):
        noisy(errors={'default': 0.5}, shares={'illegal': 0.5})
    with pytest.raises(InputError, match=r'errors\.default'):
        noisy(errors={'default': 2})
    planner = BackendVisualPlanner(noisy('perfect'), world.domain)
    with pytest.raises(InputError, match='choose goal told, or another model'):
        planner.propose(world.observe(), VisualTask(
            two_blocks().for_agent(pictured_goal=True), 'plan', goal=world.observe()))


def test_a_split_without_a_rate_has_the_mean_of_the_others() -> None:
    table = load_table('gpt-4.1')
    splits = bundled().models['GPT-4.1']['household']['plan']
    assert table.error('household', 'plan', 'hard') == splits['hard']
    assert table.error('household', 'plan', 'search') == pytest.approx(sum(splits.values()) / 3)
