"""Facts about what is out of view: who is told what, and when."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles import (
    BoobyTrap,
    EventList,
    GuessingGrounder,
    MemoryWorld,
    SearchPlanner,
    facts_of,
    pantry,
    pantry_view,
    spec_of,
    visual_planner,
)
from sightplan.agent import (
    Act,
    FactsFromTruth,
    PolicyBase,
    Stop,
    make_policy,
    method_names,
    needs_truth,
    reads_instruction,
    run_episode,
)
from sightplan.agent.loop import _Session
from sightplan.metrics import EpisodeScorer
from sightplan.model import (
    Action,
    Asked,
    Atom,
    BeliefUpdated,
    Observation,
    Observed,
    Planned,
    Privileged,
    Proposed,
    Stepped,
    StopReason,
    WorldError,
)

DOMAIN = pantry()
PROBLEMS = DOMAIN.split_problems('small')
NONE, INITIAL, ALWAYS = Privileged.NONE, Privileged.INITIAL, Privileged.ALWAYS
METHODS = [name for name in method_names() if not needs_truth(name) and name != 'human'
           and not reads_instruction(name)]


class Script(PolicyBase):
    """Looks, acts, and keeps what each look told."""

    remaining = 0

    def __init__(self, *actions):
        self.actions = [Action.parse(text) for text in actions]
        self.provided = []

    def begin(self, context):
        self.provided.append(context.observe().privileged_facts)

    def decide(self, context):
        return (Act(self.actions.pop(0)) if self.actions else Stop(StopReason.PLAN_DONE))

    def learn(self, context, action, feedback):
        self.provided.append(context.observe().privileged_facts)


def apple_in(place):
    return DOMAIN.parse_problem(f'''(define (problem p) (:domain pantry)
        (:objects apple cup - item left right - cupboard)
        (:init (at apple {place}) (at cup table) (handempty))
        (:goal (at apple table)))''', 'p')


def play(policy, spec, world=None, source=True, recorder=None):
    world, events = world or MemoryWorld(DOMAIN, pantry_view), EventList()
    ended = run_episode(
        spec, policy, world, GuessingGrounder(world), SearchPlanner(DOMAIN), recorder or events,
        DOMAIN, visual_planner=visual_planner(world),
        privileged=facts_of(world, spec) if source is True else source)
    return ended, events, world


@pytest.mark.parametrize(('level', 'looks'), [(NONE, 0), (INITIAL, 2), (ALWAYS, 4)])
def test_when_facts_are_told(level, looks):
    """An action that is refused changes nothing: the look after it is still before the first."""
    policy = Script('close(left)', 'open(right)', 'close(right)')
    _, events, _ = play(policy, spec_of(apple_in('left'), privileged=level))
    assert [step.feedback.status.value for step in events.of(Stepped)] == [
        'rejected', 'executed', 'executed']
    assert [bool(told) for told in policy.provided] == [n < looks for n in range(4)]
    assert policy.provided == [
        look.observation.privileged_facts for look in events.of(Observed)]
    for told in policy.provided[:looks]:
        assert told[Atom('at', ('apple', 'left'))] and not told[Atom('at', ('apple', 'right'))]


def test_what_a_world_grants_by_itself_is_not_passed_on():
    class Chatty(MemoryWorld):
        def observe(self):
            return dataclasses.replace(super().observe(),
                                       privileged_facts={Atom('handempty', ()): True})
    policy = Script('open(left)')
    play(policy, spec_of(apple_in('left')), Chatty(DOMAIN, pantry_view))
    assert policy.provided == [{}, {}]


@pytest.mark.parametrize('level', [INITIAL, ALWAYS])
def test_an_episode_that_promises_facts_needs_somebody_to_tell_them(level):
    ended, _, world = play(Script('open(left)'), spec_of(apple_in('left'), privileged=level),
                           source=None)
    assert ended.reason is StopReason.ERROR and 'privileged' in ended.message
    assert not world.actions


def test_a_source_tells_nothing_in_an_episode_that_grants_nothing():
    world = MemoryWorld(DOMAIN, pantry_view)
    world.reset(spec_of(apple_in('left')))
    with pytest.raises(WorldError, match='grants no facts'):
        facts_of(world, world.spec).provide(world.observe())
    spec = spec_of(apple_in('left'), privileged=ALWAYS)
    unsaid = Observation(stamp_ns=world.now_ns)
    source = FactsFromTruth(BoobyTrap(), spec, DOMAIN.model(spec.problem).atoms)
    assert source.provide(unsaid) == {}


@given(number=st.integers(0, len(PROBLEMS) - 1), choices=st.lists(st.integers(0, 10_000),
                                                                  max_size=12))
def test_what_is_told_is_true_and_all_of_it_is_out_of_view(number, choices):
    """In any state that can be reached: look and facts never overlap, and are all there is."""
    problem = PROBLEMS[number]
    spec = spec_of(problem, privileged=ALWAYS)
    world = MemoryWorld(DOMAIN, pantry_view)
    world.reset(spec)
    for choice in choices:
        legal = [a for a in world.model.actions if world.model.applicable(a, world.state())]
        world.execute(legal[choice % len(legal)])
    look = world.observe()
    told = facts_of(world, spec).provide(look)
    seen = set(look.visible_objects)
    assert not [atom for atom in told if set(atom.args) <= seen]
    assert set(told) == {atom for atom in world.model.atoms if set(atom.args) - seen}
    assert all(value is (atom in world.state()) for atom, value in told.items())


class Spy:
    """A context that keeps all that reaches the policy through it."""

    def __init__(self, context, kept):
        self._context, self._kept = context, kept

    def __getattr__(self, name):
        value = getattr(self._context, name)
        if not callable(value):
            self._kept.append(value)
            return value

        def call(*arguments, **named):
            result = value(*arguments, **named)
            self._kept.append(result)
            return result
        return call


class Spied(PolicyBase):
    """A policy behind a spy."""

    def __init__(self, policy):
        self._policy, self.kept = policy, []
        self.prompt, self.needs_truth = policy.prompt, policy.needs_truth
        self.reads_instruction = policy.reads_instruction

    @property
    def remaining(self):
        return self._policy.remaining

    def begin(self, context):
        assert not isinstance(context, _Session), 'it must be sealed'
        self.spy = Spy(context, self.kept)
        return self._policy.begin(self.spy)

    def decide(self, context):
        return self._policy.decide(self.spy)

    def learn(self, context, action, feedback):
        return self._policy.learn(self.spy, action, feedback)


@pytest.mark.parametrize('method', METHODS)
def test_a_method_that_is_granted_nothing_is_told_nothing(method):
    class Trap:
        def provide(self, observation):
            raise AssertionError('facts were asked for')
    policy = Spied(make_policy(method))
    spec = spec_of(apple_in('left'), method=method)
    ended, events, _ = play(policy, spec, source=Trap())
    assert ended.reason.scored
    looks = [item for item in policy.kept if isinstance(item, Observation)]
    looks += [event.observation for event in events.of((Observed, Asked, Proposed))]
    assert looks or method in ('blind', 'idle', 'random')
    assert not any(look.privileged_facts for look in looks)
    for item in policy.kept:
        assert getattr(item, 'init', None) in (None, frozenset())


def until_something_is_done(method, place, level):
    """All that a method sees, asks, believes and decides before its first action is done."""
    spec = spec_of(apple_in(place), method=method, privileged=level, max_actions=6)
    _, events, _ = play(make_policy(method), spec)
    story = []
    for event in events.events[1:]:
        if isinstance(event, Asked):
            story.append([str(answer) for answer in event.answers])
        elif isinstance(event, BeliefUpdated):
            story.append(event.belief)
        elif isinstance(event, Planned):
            story.append((event.result.status, event.result.plan))
        elif isinstance(event, Stepped):
            story.append((event.action, event.feedback.status))
            break
    return story


@pytest.mark.parametrize('method', ['ground', 'ground_mem', 'decode', 'belief', 'blind', 'random'])
def test_what_is_hidden_makes_no_difference_until_it_is_told_or_found(method):
    stories = [until_something_is_done(method, place, NONE) for place in ('left', 'right')]
    assert stories[0] == stories[1] and stories[0]
    if method != 'random':
        left, right = (until_something_is_done(method, place, INITIAL)
                       for place in ('left', 'right'))
        assert left != right


def test_every_line_of_results_says_what_was_told():
    world = MemoryWorld(DOMAIN, pantry_view)
    scorer = EpisodeScorer(world)
    count = len([a for a in DOMAIN.model(apple_in('left')).atoms if 'apple' in a.args])
    for level, looks in ((NONE, 0), (INITIAL, 1), (ALWAYS, 3)):
        spec = spec_of(apple_in('left'), privileged=level)
        play(Script('open(right)', 'close(right)'), spec, world, recorder=scorer)
        line = scorer.result()
        assert (line['privileged'], line['privileged_facts']) == (level.value, looks * count)
