"""The node vlm_planner over scripted backends."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lifecycle_msgs.msg import State, Transition
from sightplan_interfaces.srv import ProposePlan

from nodes_testing import LIMIT_S, Manager, eventually, parameters, problem, spinning
from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    BackendError,
    DeadlineError,
    InputError,
    Observation,
    PastStep,
    ProposalStatus,
    SpendingCapError,
    Usage,
    VisualTask,
)
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Generate, TextReply
from sightplan.records import messages
from sightplan_nodes import backend_node, conversions, names
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.vlm_planner import VlmPlannerNode

DOMAIN, FIRST = problem()
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
BLOCK = next(name for name, kind in FIRST.objects.items() if kind == 'block')
PLAN = {'plan': [{'action': 'moveblock', 'parameters': {'block': BLOCK, 'column': 'c1'}}]}


class ScriptedBackend(ModelByKind):
    """Replies what it was told."""

    name = 'scripted-2'

    def __init__(self) -> None:
        self.reply: str | Exception = json.dumps(PLAN)
        self.requests: list[Generate] = []
        self.episodes: list[tuple[str, str]] = []
        self.usage = Usage()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def start_episode(self, episode_id: str, split: str = '') -> None:
        self.episodes.append((episode_id, split))

    @answers(Generate)
    def generate(self, request: Generate, deadline: Deadline) -> TextReply:
        self.requests.append(request)
        self.deadline = deadline
        assert self.may_go_on.wait(LIMIT_S)
        if isinstance(self.reply, Exception):
            raise self.reply
        self.usage = self.usage + Usage(1, 700, 30)
        return TextReply(self.reply)


class Client(Manager):
    """Asks the node."""

    def __init__(self, node: VlmPlannerNode, backend: ScriptedBackend) -> None:
        super().__init__(names.VLM_PLANNER)
        self.planner, self.backend = node, backend
        self.service = ServiceCaller(self.node, ProposePlan, names.PROPOSE_PLAN,
                                     names.VLM_PLANNER)

    def propose(self, prompt: str = 'plan', history: tuple[PastStep, ...] = (),
                **changes: object) -> ProposePlan.Response:
        task = VisualTask(FIRST.for_agent(), prompt, history)
        request = conversions.fill_visual_task(
            ProposePlan.Request(observation=conversions.observation_to_request(
                Observation(IMAGE, 7))), task,
            DOMAIN.write_problem(task.problem))
        for name, value in changes.items():
            setattr(request, name, value)
        return self.service(request, LIMIT_S)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """Makes nodes over a scripted backend."""
    backend = ScriptedBackend()

    @contextlib.contextmanager
    def make(**settings: object):
        monkeypatch.setattr(backend_node, 'make_backend', lambda name, options, truth: backend)
        node = VlmPlannerNode(parameter_overrides=parameters(backend='scripted', **settings))
        client = Client(node, backend)
        with spinning(node, client.node):
            yield client
        backend.may_go_on.set()
    return make


def test_a_plan_comes_back_with_everything_said(made: Callable) -> None:
    with made() as client:
        reply = client.propose()
        assert client.parameter('model') == 'scripted-2'
    assert reply.error_code == 0, reply.error_msg
    proposal = messages.proposal_from_msg(reply.proposal)
    assert proposal.status is ProposalStatus.PLANNED
    assert proposal.actions == (Action('moveblock', (BLOCK, 'c1')),)
    assert (proposal.model, proposal.repaired) == ('scripted-2', False)
    assert json.loads(proposal.text) == PLAN
    assert proposal.seconds > 0.0
    assert proposal.prompt_sha256 == load_domain('blocksworld').prompt_hash('plan')
    assert messages.usage_from_msg(reply.usage) == Usage(1, 700, 30)
    request = client.backend.requests[0]
    images = [part for part in request.parts if not isinstance(part, str)]
    np.testing.assert_array_equal(images, [IMAGE])


def test_prompts_of_a_folder_replace_those_of_the_domain(made: Callable, tmp_path: Path) -> None:
    (tmp_path / 'plan.txt').write_text('<system>{"plan": []}</system><user>Do {goal_string} '
                                       'after {previous_actions}: {image}</user>')
    with made(prompts=str(tmp_path)) as client:
        reply = client.propose('plan', (PastStep('fly(x)', 'failure; not legal'),))
        assert client.propose('action').error_code != 0
    assert reply.error_code == 0, reply.error_msg
    request = client.backend.requests[0]
    assert request.system == '{"plan": []}' and request.parts[0].startswith('Do The ')
    assert '"outcome": "failure", "info": "not legal"}]:' in request.parts[0]
    assert messages.proposal_from_msg(reply.proposal).prompt_sha256 == load_domain(
        'blocksworld', prompts=tmp_path).prompt_hash('plan')


def test_the_model_is_told_goal_and_history_and_no_state(made: Callable) -> None:
    history = (PastStep('moveblock(r, c9)', 'there is no column c9'),)
    with made() as client:
        client.propose('action_cot', history)
        client.propose()
        client.propose(problem_pddl=DOMAIN.write_problem(FIRST))
    told, without, whole = (
        request.system + ''.join(part for part in request.parts if isinstance(part, str))
        for request in client.backend.requests)
    assert 'there is no column c9' in told
    assert 'moveblock(r, c9)' in told
    assert 'c9' not in without
    assert whole == without, 'an initial state is not passed on'


@pytest.mark.parametrize(('reply', 'status'), [
    ('I would rather not.', ProposalStatus.UNPARSED), ('{"plan": []}', ProposalStatus.EMPTY),
    ('{"plan": [{"action": "fly", "parameters": {}}]}', ProposalStatus.UNKNOWN_ACTION),
    ('{"plan": [{"action": "moveblock", "parameters": {"block": "r"}}]}',
     ProposalStatus.WRONG_ARGUMENTS),
    ('\0\ud800', ProposalStatus.UNPARSED)])
def test_useless_replies_are_outcomes_not_errors(made: Callable, reply: str,
                                                 status: ProposalStatus) -> None:
    with made() as client:
        client.backend.reply = reply
        answer = client.propose()
    assert answer.error_code == 0
    proposal = messages.proposal_from_msg(answer.proposal)
    assert (proposal.status, proposal.actions) == (status, ())
    assert proposal.message
    assert messages.usage_from_msg(answer.usage).requests == 1


@pytest.mark.parametrize(('changes', 'words'), [
    ({'prompt': 'sing'}, 'sing'), ({'problem_pddl': '(define'}, 'problem'),
    ({'domain': 'nowhere'}, 'nowhere')])
def test_bad_requests_are_named_and_not_passed_on(made: Callable, changes: dict,
                                                  words: str) -> None:
    with made() as client:
        reply = client.propose(**changes)
        assert not client.backend.requests
        assert words in reply.error_msg
        assert 2 <= reply.error_code < 10
        assert client.propose().error_code == 0, 'the node goes on'


def test_images_that_cannot_be_read_are_named(made: Callable) -> None:
    with made() as client:
        message = conversions.observation_to_request(Observation(IMAGE, 7))
        message.image[0].encoding = 'bayer_rggb8'
        reply = client.propose(observation=message)
    assert reply.error_code == InputError.code
    assert 'bayer_rggb8' in reply.error_msg


@pytest.mark.parametrize('error', [BackendError('out of memory'),
                                   SpendingCapError('5 USD are spent')])
def test_errors_of_the_backend_keep_their_kind(made: Callable, error: Exception) -> None:
    with made() as client:
        client.backend.reply = error
        reply = client.propose()
    assert (reply.error_code, reply.error_msg) == (error.code, str(error))


def test_deadline_of_a_request_and_life_meanwhile(made: Callable) -> None:
    with made() as client:
        client.backend.may_go_on.clear()
        reply = client.propose(timeout_s=0.5)
        assert reply.error_code == DeadlineError.code
        assert 0.0 < client.backend.deadline.timeout_s <= 0.5, 'the backend keeps it, too'
        assert client.state() == State.PRIMARY_STATE_ACTIVE, 'the executor is not blocked'
        client.backend.may_go_on.set()
        assert client.propose().error_code == 0


def test_lifecycle(made: Callable) -> None:
    with made(autostart=False) as client:
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        assert client.change(Transition.TRANSITION_CONFIGURE)
        with pytest.raises(DeadlineError, match='vlm_planner is not there'):
            client.service.wait_until_there(0.3)
        assert client.change(Transition.TRANSITION_ACTIVATE)
        assert client.propose().error_code == 0
        assert client.change(Transition.TRANSITION_DEACTIVATE)
        assert client.change(Transition.TRANSITION_CLEANUP)
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED


def test_a_backend_that_cannot_plan_is_refused(capfd: pytest.CaptureFixture) -> None:
    """With the clear words of the core, and before anything is loaded."""
    for autostart in (False, True):
        node = VlmPlannerNode(parameter_overrides=parameters(
            backend='noisy_oracle', autostart=autostart))
        client = Client(node, ScriptedBackend())
        with spinning(node, client.node):
            if autostart:
                eventually(lambda n=node: n.exit_code is not None, 'the end')
            else:
                assert not client.change(Transition.TRANSITION_CONFIGURE)
            assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
            assert node.exit_code == (1 if autostart else None)
    err = capfd.readouterr().err
    assert err.count("backend 'noisy_oracle' cannot plan") == 2
    assert 'scripted' in err, 'names those that can'


def test_episodes_are_told(made: Callable) -> None:
    with made() as client:
        for new in (True, False, True):
            client.propose(episode_id='one', split='hard', new_episode=new)
    assert client.backend.episodes == [('one', 'hard')] * 2


def test_a_recorded_plan_can_be_replayed(made: Callable, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    from sightplan.vlm.api import make_backend
    with made(record=str(tmp_path)) as client:
        said = client.propose(episode_id='one', new_episode=True)
    monkeypatch.setattr(backend_node, 'make_backend', make_backend)
    node = VlmPlannerNode(parameter_overrides=parameters(
        backend='replay', backend_options=f'path={tmp_path}'))
    again = Client(node, ScriptedBackend())
    with spinning(node, again.node):
        replayed = again.propose(episode_id='one', new_episode=True)
        other = again.propose('plan_cot', episode_id='one')
        assert again.parameter('model') == 'scripted-2'
    replayed.proposal.seconds = said.proposal.seconds
    assert replayed.proposal == said.proposal
    assert (messages.usage_from_msg(replayed.usage) == messages.usage_from_msg(said.usage)
            == Usage(1, 700, 30))
    assert other.error_code == BackendError.code
    assert 'holds no reply' in other.error_msg
