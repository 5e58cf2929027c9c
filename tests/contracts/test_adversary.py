"""Nobody learns from what a method is handed which problem it has, or what is hidden of it.

A standing adversary (``adversary``) pries into everything, in every suite, and does no better than
one that knows nothing: it recognises no problem and no sample, and finds no object of a world, a
run or a scene. What is shown it may use: a published problem can be known by its goal or picture.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from adversary import Library, Prying, PryingAnswerer, reachable, strangers
from doubles import Answering, EventList, MemoryWorld
from sightplan.agent import FactsFromTruth, run_episode
from sightplan.domains import load_domain
from sightplan.domains.problem_keys import problem_key
from sightplan.model import (
    Action,
    Answer,
    BackendError,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Observation,
    PlanningTask,
    Problem,
    SymbolicPlanner,
)
from sightplan.model.sealing import Sealed, sealed
from sightplan.runs import RunSettings, load_suite, make_planner, make_world, sample_work
from sightplan.runs.episodes import EpisodePlan
from sightplan.runs.method_check import warn_of_learned_problems
from sightplan.runs.run import make_work
from sightplan.runs.samples import truth_reply
from sightplan_belief.observation_model import ObservationModel

EPISODES = [
    ('viplan', 'blocksworld', 'simple', 'told', {'pictures': 'none'}),
    ('viplan', 'household', 'simple', 'told', {'pictures': 'none'}),
    ('viplan', 'household', 'search', 'told', {'pictures': 'none'}),
    ('ivispar', 'sliding', 'geoms', 'pictured', {'pictures': 'none'}),
    ('ivispar', 'sliding', 'tiles', 'told', {'view': 'text'}),
    ('', 'tabletop', 'short', 'told', None),
]
SAMPLES = [
    ('predicates', 'simple', {'count': 1, 'domain': 'blocksworld'}, 0),
    ('predicates', 'medium', {'count': 1, 'domain': 'household'}, 0),
    ('point_it_out', 's1', {'count': 1}, 0),
    ('point_it_out', 's3', {'count': 1}, 0),
    ('patheval', 'test', {}, 6),
    ('patheval', 'test', {'variant': 'flipped'}, 6),
    ('patheval', 'test', {'variant': 'perception'}, 4),
    ('patheval', 'segments', {}, 4),
    ('grounded_plan', 'short', {'count': 2}, 0),
    ('ivispar', 'boards_2d', {}, 4),
    ('ivispar', 'boards_3d', {}, 2),
]


class Silent(Answering):
    """A model that answers nothing."""

    model = 'silent(seed 7)'

    def ground(self, *arguments: object) -> list[Answer]:
        raise BackendError('says nothing')


def plans(planner: SymbolicPlanner, problem: Problem) -> Iterable[Action]:
    domain = load_domain(problem.domain)
    return planner.plan(PlanningTask(domain.pddl, domain.write_problem(problem)), 60.0).plan


def pry(suite: str, name: str, split: str, goal: str, options: dict[str, Any] | None,
        count: int) -> Iterator[tuple[EpisodeSpec, Prying, bool]]:
    """Episodes of the adversary: each with its problem, and whether that was solved."""
    settings = RunSettings(domain=name, split=split, method='blind', suite=suite, goal=goal,
                           episodes=count)
    plan = EpisodePlan(settings)
    domain = plan.domain
    library = Library((one, problem) for one in domain.splits
                      for problem in domain.split_problems(one))
    with ExitStack() as stack:
        planner = make_planner(settings)
        stack.callback(planner.close)  # type: ignore[attr-defined]
        if options is None:
            world: Any = MemoryWorld(domain)
        else:
            world = make_world(name, options)
            stack.callback(world.close)
        policy = Prying(library, lambda problem: plans(planner, problem))
        for spec in plan.items:
            run_episode(
                spec, policy, world, Silent(), planner, EventList(), domain,
                goal_reached=lambda spec=spec: spec.problem.goal_met(world.state()),
                privileged=FactsFromTruth(world, spec, domain.worth_asking(spec.problem)))
            yield spec, policy, spec.problem.goal_met(world.state())


@pytest.mark.parametrize(('suite', 'domain', 'split', 'goal', 'options'), EPISODES,
                         ids=lambda value: value if isinstance(value, str) else '')
def test_nobody_recognises_the_problem_of_an_episode(suite, domain, split, goal, options):
    """A method that looks up whatever it is handed solves nothing more than a blind one."""
    solved = 0
    for _, policy, done in pry(suite, domain, split, goal, options, 2):
        assert policy.seen, 'the method got nothing at all'
        assert policy.recognised is None
        assert strangers(policy.seen) == set()
        solved += done
    assert solved == 0


@pytest.mark.parametrize(('suite', 'domain', 'split', 'goal', 'options'), EPISODES,
                         ids=lambda value: value if isinstance(value, str) else '')
def test_what_is_hidden_of_an_episode_is_in_nothing_that_is_handed_over(
        suite, domain, split, goal, options):
    (spec, policy, _), = pry(suite, domain, split, goal, options, 1)
    whole, seen = spec.problem, policy.seen
    problems = [one for one in seen if isinstance(one, Problem)]
    assert problems, 'not even what is told'
    for one in problems:
        assert one.init <= whole.known
        assert one.optimal_length is None
        assert (one.source, dict(one.plans)) == ('', {})
        if goal == 'pictured':
            assert one.goal == ()
    specs = [one for one in seen if isinstance(one, EpisodeSpec)]
    assert specs, 'not even the budget is told'
    assert {(one.id, one.seed, one.policy_seed, one.failure_probability) for one in specs} == {
        ('', 0, 0, 0.0)}
    sets = [frozenset(one) for one in seen if isinstance(one, (set, frozenset, list, tuple))
            and all(isinstance(part, type(next(iter(whole.init)))) for part in one) and one]
    hidden = whole.init - whole.known
    assert not any(hidden <= one and len(one) <= len(whole.init) for one in sets)
    assert not any('seed 7' in one for one in seen if isinstance(one, str))


@pytest.mark.slow
@pytest.mark.parametrize(('suite', 'domain', 'split', 'goal', 'options'), EPISODES,
                         ids=lambda value: value if isinstance(value, str) else '')
def test_nobody_recognises_any_problem(suite, domain, split, goal, options):
    count = min(50, len(load_domain(domain).split_problems(split)))
    assert [policy.recognised for _, policy, _ in pry(
        suite, domain, split, goal, options, count)] == [None] * count


class Blank:
    """A world that shows always the same, whatever it is reset to."""

    def reset(self, spec: EpisodeSpec) -> None:
        """Nothing changes."""

    def observe(self) -> Observation:
        return Observation(np.zeros((2, 2, 3), np.uint8), 1, 'camera', visible_objects=())

    def goal_observation(self) -> Observation:
        return Observation(np.ones((2, 2, 3), np.uint8), -1, 'camera')

    def execute(self, action: Action) -> Feedback:
        return Feedback(FeedbackStatus.REJECTED, 'not legal', 2)


class Goalless(Blank):
    """One that cannot show goals, so that a method that asks for one gets an error."""

    goal_observation = None  # type: ignore[assignment]


@pytest.mark.parametrize('world', [Blank, Goalless])
@pytest.mark.parametrize('pictured', [False, True])
@pytest.mark.parametrize(('domain', 'split'), [
    ('blocksworld', 'simple'), ('household', 'search'), ('sliding', 'geoms'),
    ('tabletop', 'short')])
def test_two_problems_that_look_alike_give_a_method_the_same(domain, split, pictured, world):
    """All that is handed over is equal, so that no method whatever can tell them apart."""
    loaded = load_domain(domain)
    first, other = loaded.split_problems(split)[:2]
    twin = dataclasses.replace(
        first, name=other.name, init=frozenset(list(first.init)[1:]) | first.known,
        optimal_length=99, source=other.source, plans={'right': ()},
        goal=first.goal[::-1][:1] if pictured else first.goal)
    told = []
    for number, problem in enumerate((first, twin)):
        policy = Prying(Library([]), lambda problem: ())
        spec = EpisodeSpec(f'{domain}/{split}/{problem.name}#{number}', problem, 'blind', split,
                           seed=number, failure_probability=number / 10, pictured_goal=pictured,
                           policy_seed=5)
        run_episode(spec, policy, world(), Silent(), None, EventList(), loaded)  # type: ignore
        told.append(policy.plain)
    assert len(told[0]) > 20
    assert told[0] == told[1]


# ------------------------------------------------------------------------------------ samples


@pytest.mark.parametrize(('name', 'split', 'options', 'count'), SAMPLES,
                         ids=lambda value: value if isinstance(value, str) else '')
def test_nobody_recognises_a_sample(name, split, options, count, monkeypatch):
    """An answerer that looks up whatever it is handed is as good as chance: the same replies."""
    suite = load_suite(name)
    settings = RunSettings(suite=name, split=split, suite_options=options, method='random',
                           episodes=count)
    by_chance = make_work(settings)
    plan = by_chance.plan
    truths = {}
    for sample in plan.items:
        reply = truth_reply(suite, sample, plan.truth(sample)) if split != 's3' else None
        pictures = [part.name for part in sample.parts if not isinstance(part, str)]
        truths.update(dict.fromkeys((sample.id, *pictures), reply))
        guess = by_chance.runner.guess(sample).text
        if len(guess) > 20:  # whoever can draw it again knows the sample by it
            truths[guess] = reply
    answerer = PryingAnswerer({name: reply for name, reply in truths.items() if len(name) > 2})
    monkeypatch.setattr(sample_work, 'make_answerer', lambda *arguments: answerer)
    prying = make_work(settings)
    for batch in prying.batches(plan.items):
        found = prying.make(batch, lambda: False)
        expected = by_chance.make(batch, lambda: False)
        for one, other in zip(found, expected, strict=True):
            assert {**one, 'seconds': 0} == {**other, 'seconds': 0}
            assert one['error'] is None
    assert answerer.recognised == 0
    assert answerer.strangers == set()
    words = '\n'.join(answerer.words)
    for sample in plan.items:
        assert sample.id not in words
        assert sample.cluster not in words
    truth = {id(part) for sample in plan.items for part in _parts(plan.truth(sample))}
    assert not any(id(one) in truth for one in answerer.containers)
    by_chance.close()
    prying.close()


def _parts(truth: Any) -> list[Any]:
    """Containers of a truth."""
    return [one for one in reachable(truth) if isinstance(one, (list, dict))]


def test_a_method_gets_the_details_that_it_may_know():
    settings = RunSettings(suite='grounded_plan', split='short', suite_options={'count': 2},
                           method='random')
    work = make_work(settings)
    handed = work.runner._handed.hand_out(work.plan.items)
    for sample, given in zip(work.plan.items, handed, strict=True):
        assert given.details == {name: sample.details[name]
                                 for name in ('instruction', 'image_size')}
        assert given.parts[1] == sample.parts[1]
    work.close()


# ------------------------------------------------------------------------------------- sealing


class Secret:
    """Something with a secret."""

    def __init__(self) -> None:
        self.secret = ['the truth']

    def read(self) -> str:
        return 'told'


def test_nothing_leads_from_a_sealed_object_to_what_is_behind_it():
    class Contract:
        def read(self) -> str:
            """Read."""

        @property
        def told(self) -> str:
            """Told."""

    class Behind(Secret):
        told = 'yes'

    behind = Behind()
    facade = sealed(Contract, behind)
    function = Sealed(behind.read)
    assert (facade.read(), facade.told, function()) == ('told', 'yes', 'told')
    assert not hasattr(facade, 'secret')
    for one in (facade, function, facade.read):
        assert behind.secret not in [*reachable(one)]
        assert behind not in [*reachable(one)]
    # The walker itself gets there by all other ways.
    for way in (behind.read, lambda: behind, Holder(behind), [{'a': (behind,)}]):
        assert behind in [*reachable(way)]


class Holder:
    __slots__ = ('_held',)

    def __init__(self, held: object) -> None:
        self._held = held


def test_what_is_behind_goes_with_what_was_sealed():
    from sightplan.model import sealing
    before = len(sealing._BEHIND)
    one = Sealed(lambda: 1)
    assert len(sealing._BEHIND) == before + 1
    del one
    assert len(sealing._BEHIND) == before


def test_a_run_says_that_its_calibration_knows_its_problems(tmp_path, caplog):
    """The run says it, since a method does not know which problem it has; pictured goals too."""
    for domain, split in (('blocksworld', 'simple'), ('sliding', 'geoms'),
                          ('household', 'search')):
        problems = load_domain(domain).split_problems(split)
        file = tmp_path / f'{domain}.json'
        ObservationModel(problems=tuple(map(problem_key, problems[1:3]))).write(file)
        settings = RunSettings(domain=domain, split=split, method='belief',
                               method_options={'calibration': str(file)})
        for chosen, count in ((problems[:2], 1), (problems[1:3], 2), (problems[3:6], 0)):
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                warn_of_learned_problems(settings, [(split, one) for one in chosen])
            found = [f'{count} of the {len(chosen)} problems' in one for one in caplog.messages]
            assert found == [True] * bool(count)


def test_answers_about_pictured_goals_that_were_replayed_from_a_bag_are_known_again(tmp_path,
                                                                                    caplog):
    """A bag has the problem as the agent knew it: without a goal that was pictured."""
    problem = load_domain('sliding').split_problems('geoms')[0]
    key = problem_key(problem.for_agent(pictured_goal=True))
    ObservationModel(problems=(key,)).write(tmp_path / 'rates.json')
    settings = RunSettings(domain='sliding', split='geoms', method='belief',
                           method_options={'calibration': str(tmp_path / 'rates.json')})
    warn_of_learned_problems(settings, [('geoms', problem)])
    assert '1 of the 1 problems' in caplog.text


def test_the_run_itself_looks_whether_its_calibration_knows_its_problems(tmp_path, caplog):
    problems = load_domain('blocksworld').split_problems('simple')
    ObservationModel(problems=tuple(map(problem_key, problems[:3]))).write(tmp_path / 'rates.json')
    settings = RunSettings(domain='blocksworld', split='simple', method='blind', episodes=1,
                           world_options={'pictures': 'none'},
                           method_options={'calibration': str(tmp_path / 'rates.json')})
    make_work(settings).close()
    assert '3 of the 25 problems' in caplog.text
