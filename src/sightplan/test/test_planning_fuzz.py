"""Whatever a model replies: no crash, and nothing is carried out that was not checked.

"make test" draws a few hundred malformed replies, "make test-all" ten times as many. More, for
example 100,000 (5 to 20 minutes):

    SIGHTPLAN_FUZZ=100000 python -m pytest -m 'not slow' src/sightplan/test/test_planning_fuzz.py
"""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doubles import EventList, MemoryWorld, SearchPlanner, TalkingBackend, pantry, spec_of
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.model import FeedbackStatus, ProposalStatus, Proposed, Stepped, StopReason
from sightplan.planning.visual import BackendVisualPlanner, read_proposal
from sightplan.queries import TextReply

REPLIES = int(os.environ.get('SIGHTPLAN_FUZZ', '400'))
SIZES = [REPLIES, pytest.param(4 * REPLIES, marks=pytest.mark.slow)]
LOOSE = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)
METHODS = ('plan', 'plan_cot', 'action', 'action_cot')
CASES = [(domain, problem, domain.model(problem)) for domain in (load_domain('blocksworld'),
                                                                 pantry())
         for problem in [domain.split_problems(domain.splits[0])[0]]]

# Names: right ones of both domains, nearly right ones, and worse.
words = st.sampled_from([
    'moveblock', 'MoveBlock ', 'open', 'take-out', 'put-down', 'g', 'b', 'p', 'P', 'c1', 'c2',
    'c4', 'apple', 'table', 'left', 'block', 'column', 'thing', 'container', 'plan', 'action',
    'parameters', 'explanation', 'red block', 'c9', 'moveblock(g, c1)', '', ' ', '\u0000',
    'moveBloc\u212a', '__import__("os").abort()', '{goal}', '{0.__class__}', '%s%n',
    "'; DROP TABLE", '../../etc', '\ud800', '\u202e', 'é', '😀', 'a' * 300, '<answer>', '```', '"',
    "'", '\\', '\\u0041', 'NaN'])
actions = st.sampled_from(['moveblock', 'MOVEBLOCK', 'moveblock ', 'open', 'take-out', 'put-in'])
scalars = st.one_of(words, st.text(max_size=12), st.none(), st.booleans(), st.integers(),
                    st.floats())
values = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=4),
                                     st.dictionaries(words, inner, max_size=4)), max_leaves=12)
good = st.sampled_from([
    ('moveblock', {'block': 'g', 'column': 'c1'}), ('moveblock', ['p', 'c1']),
    ('moveblock', {'column': 'c4', 'block': 'b'}), ('moveblock', ['g', 'c4']),
    ('open', {'container': 'high'}), ('take-out', ['cup', 'left']), ('put-down', ['cup'])])
arguments = st.one_of(st.lists(words, max_size=3), st.dictionaries(words, scalars, max_size=3),
                      values)
likely = good.map(lambda pair: {'action': pair[0], 'parameters': pair[1]})
steps = st.integers(0, 9).flatmap(lambda n: (
    likely if n < 4 else
    st.fixed_dictionaries({'action': actions, 'parameters': arguments}) if n < 7 else
    st.fixed_dictionaries({'action': scalars, 'parameters': arguments}) if n < 9 else values))
forms = st.one_of(
    st.lists(steps, max_size=4).map(lambda plan: {'plan': plan}),
    st.tuples(st.lists(steps, max_size=4), scalars).map(
        lambda pair: {'explanation': pair[1], 'plan': pair[0]}),
    steps, likely, st.lists(steps, max_size=3), values)
spelling = st.sampled_from([json.dumps, str, lambda v: json.dumps(v, indent=1),
                            lambda v: json.dumps(v, ensure_ascii=False)])
around = st.sampled_from([
    *['%s'] * 8, '```json\n%s\n```', 'Here it is:\n%s', '```\n%s', '%s,', '[%s]', '{"plan": %s}',
    '%s\n%s', '<think>{</think>%s', '%s</think>', '%s}', '{%s', '\ufeff%s'])
junk = st.one_of(st.sampled_from([*'{}[]",:\'\\`\n\t\0', '\\u', '//', '#', '...', 'null']),
                 st.text(max_size=3))


@st.composite
def replies(draw):
    """A reply: free text, or something like what was asked for, spelt, wrapped and damaged."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.text(max_size=200))
    text = draw(spelling)(draw(forms))
    text = draw(around).replace('%s', text)
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 5]))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 20)))
        text = text[:start] + draw(junk) + text[end:]
    if draw(st.integers(0, 7)) == 0:
        text = text[:draw(st.integers(0, len(text)))]
    return text


@pytest.mark.timeout(1200 + REPLIES)
@pytest.mark.parametrize('count', SIZES)
def test_any_reply_is_read(count):
    @settings(LOOSE, max_examples=count)
    @given(text=replies(), method=st.sampled_from(METHODS), case=st.sampled_from(CASES),
           truncated=st.booleans())
    def check(text, method, case, truncated):
        domain, problem, model = case
        prompt = domain.planning_prompt(method, problem)
        proposal = read_proposal(text, prompt, domain.prompts.actions, model, truncated)
        for action in proposal.actions:
            model.check(action)
            assert action.name in text.lower()
        planned = proposal.status is ProposalStatus.PLANNED
        assert planned is bool(proposal.actions) is not bool(proposal.message)
        assert len(proposal.named) < 3000 and len(proposal.message) <= 400
        assert '\n' not in proposal.named
        for part in (proposal.named, proposal.message, proposal.explanation, proposal.text):
            part.encode()
    check()


def test_the_replies_are_of_every_kind():
    """Else the test above would prove little."""
    seen = dict.fromkeys(ProposalStatus, 0)
    del seen[ProposalStatus.STARTED]  # only where a protocol asks for a reply that begins
    del seen[ProposalStatus.FAILED]  # no reply at all

    @settings(LOOSE, max_examples=500, derandomize=True)
    @given(text=replies(), method=st.sampled_from(METHODS), case=st.sampled_from(CASES))
    def read(text, method, case):
        domain, problem, model = case
        prompt = domain.planning_prompt(method, problem)
        seen[read_proposal(text, prompt, domain.prompts.actions, model).status] += 1
    read()
    assert min(seen.values()) > 2, seen


@pytest.mark.timeout(1200 + REPLIES)
@pytest.mark.parametrize('count', SIZES)
def test_any_replies_make_an_episode(count):
    @settings(LOOSE, max_examples=max(1, count // 20))
    @given(texts=st.lists(replies(), min_size=1, max_size=8), method=st.sampled_from(METHODS),
           case=st.sampled_from(CASES), stop_at_goal=st.booleans(),
           on_unparsed=st.sampled_from(['stop', 'continue']),
           on_empty=st.sampled_from(['stop', 'continue']))
    def check(texts, method, case, stop_at_goal, on_unparsed, on_empty):
        domain, problem, model = case
        world, events = MemoryWorld(domain), EventList()
        sent = []
        execute = world.execute

        def spy(action):
            sent.append(action)
            return execute(action)
        world.execute = spy
        script = iter(texts * 8)
        backend = TalkingBackend(lambda request: TextReply(next(script)))
        spec = spec_of(problem, method=method, max_actions=8, stop_at_goal=stop_at_goal)
        ended = run_episode(
            spec, make_policy(method, {'on_unparsed': on_unparsed, 'on_empty': on_empty}), world,
            None, SearchPlanner(domain), events, domain,
            visual_planner=BackendVisualPlanner(backend, domain),
            goal_reached=lambda: problem.goal_met(world.state()))
        assert ended.reason in (StopReason.BUDGET, StopReason.UNPARSED, StopReason.EMPTY_PLAN,
                                StopReason.GOAL_REACHED), ended
        proposals = [event.proposal for event in events.of(Proposed)]
        assert sent == [proposal.actions[0] for proposal in proposals if proposal.actions]
        assert set(sent) <= set(model.actions)
        invalid = [step for step in events.of(Stepped)
                   if step.feedback.status is FeedbackStatus.INVALID]
        assert all(step.action is None for step in invalid)
        assert len(sent) + len(invalid) == ended.steps <= 8
    check()
