"""The node grounder over scripted backends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lifecycle_msgs.msg import State, Transition
from sensor_msgs.msg import Image
from sightplan_interfaces import msg
from sightplan_interfaces.srv import Ground, StartRun

from nodes_testing import LIMIT_S, Manager, eventually, parameters, spinning
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    SpendingCapError,
    UnknownImageError,
    Usage,
)
from sightplan.model.journal import read_lines
from sightplan.model.query import Deadline, ModelByKind, Query, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan.records import messages
from sightplan.vlm.recording import read_recording
from sightplan_nodes import backend_node, conversions, names, qos, query_messages
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.remote_model import RosModel

IMAGE = np.zeros((4, 6, 3), np.uint8)


class ScriptedBackend(ModelByKind):
    """Says yes to the atoms it was told."""

    traits = Traits(pixels=False, prompt=False)
    name = 'scripted-1'

    def __init__(self) -> None:
        self.usage: Usage | None = Usage()
        self.requests: list[Sequence[YesNo]] = []
        self.episodes: list[tuple[str, str]] = []
        self.fail: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def start_episode(self, episode_id: str, split: str = '') -> None:
        self.episodes.append((episode_id, split))

    @answers(YesNo, together=True)
    def answer(self, request: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.requests.append(request)
        if self.usage is not None:
            self.usage = self.usage + Usage(len(request), 100, 10, 0.5)
        assert self.may_go_on.wait(LIMIT_S)
        if self.fail is not None:
            raise self.fail
        return [Answer('Yes', 0.75, 0.25)
                if q.question.atom.args[0] == 'r' else Answer('perhaps')
                for q in request]


class Client(Manager):
    """Asks the node."""

    def __init__(self, node: GrounderNode, backend: ScriptedBackend) -> None:
        super().__init__(names.GROUNDER)
        self.grounder, self.backend = node, backend
        self.ground_service = ServiceCaller(self.node, Ground, names.GROUND, names.GROUNDER)

    @staticmethod
    def questions(*blocks: str) -> list[Question]:
        return [Question(Atom('clear', (block,)), f'Is {block} clear?') for block in blocks]

    def ground(self, *blocks: str, timeout_s: float = 0.0, episode_id: str = '',
               split: str = '', new_episode: bool = False,
               prompt: GroundingPrompt | None = None, with_image: bool = True,
               ) -> Ground.Response:
        request = Ground.Request(
            timeout_s=timeout_s, episode_id=episode_id, split=split, new_episode=new_episode)
        query_messages.fill_questions(request, self.questions(*blocks))
        request.observation = conversions.observation_to_request(Observation(IMAGE, 7),
                                                                 with_image=with_image)
        if prompt is not None:
            request.prompt = MESSAGES.to_msg(prompt)
        return self.ground_service(request, LIMIT_S)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """Makes grounder nodes over a scripted backend, or over one that cannot be made."""
    backend = ScriptedBackend()

    @contextlib.contextmanager
    def make(fail: Exception | None = None, **settings: object):
        def make_backend(name: str, options: dict, truth: object) -> ScriptedBackend:
            if fail is not None:
                raise fail
            return backend
        monkeypatch.setattr(backend_node, 'make_backend', make_backend)
        values = {'backend': 'noisy_oracle', **settings}
        monkeypatch.setattr(backend_node, 'backend_class', lambda name: ScriptedBackend)
        node = GrounderNode(parameter_overrides=parameters(**values))
        client = Client(node, backend)
        with spinning(node, client.node):
            yield client
        backend.may_go_on.set()
    return make


def test_the_agent_knows_the_model_before_the_first_question(made: Callable) -> None:
    """Rates that a domain has for a model are taken at once, as they are in process."""
    with made() as client:
        model = RosModel(client.node, names.GROUNDER)
        assert (model.name, model.traits, model.accepts) == ('', Traits(), {Query})
        model.wait_until_there(LIMIT_S)
        assert (model.name, model.traits) == ('scripted-1', client.backend.traits)
        assert model.accepts == client.backend.accepts and not model.traits.prompt
        assert not client.backend.requests


@pytest.mark.parametrize('record', [False, True])
def test_a_model_that_may_lose_pictures_finds_that_out(
        made: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: bool) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(ScriptedBackend, 'pictures_lost', '', raising=False)
    monkeypatch.setattr(ScriptedBackend, 'picture_check', '', raising=False)
    monkeypatch.setattr(ScriptedBackend, 'check_pictures', lambda self: asked.append(True),
                        raising=False)
    with made(**({'record': str(tmp_path)} if record else {})) as client:
        assert client.ground('r').error_code == 0
    assert asked == [True]


def test_answers_in_order_with_everything_said(made: Callable) -> None:
    with made() as client:
        reply = client.ground('r', 'g')
    assert reply.error_code == 0, reply.error_msg
    yes, odd = query_messages.answers_from_response(reply, client.questions('r', 'g'))
    assert (yes.verdict.value, yes.p_yes, yes.p_no) == ('yes', 0.75, 0.25)
    assert (odd.verdict.value, odd.p_yes, odd.text) == ('unparsed', None, 'perhaps')
    assert reply.model == 'scripted-1'
    assert len(reply.image_id) == 16
    assert reply.seconds > 0.0
    seen = client.backend.requests[0][0].observation
    np.testing.assert_array_equal(seen.image, IMAGE)
    assert seen.stamp_ns == 7


def test_a_new_episode_is_told_once(made: Callable) -> None:
    with made() as client:
        for episode_id in ('', 'one', 'one', 'two', 'one'):
            client.ground('r', episode_id=episode_id, split='hard')
    assert client.backend.episodes == [('one', 'hard'), ('two', 'hard'), ('one', 'hard')]


def test_an_episode_that_begins_once_more_is_told(made: Callable) -> None:
    """Nothing of an attempt is left for the next one of the same name."""
    with made() as client:
        for new in (True, False, True, False):
            client.ground('r', episode_id='one', new_episode=new)
    assert client.backend.episodes == [('one', '')] * 2


def test_the_prompt_reaches_the_backend(made: Callable) -> None:
    prompt = GroundingPrompt('ground_cot', 'You see.', 'Look:', 'Before that, ...',
                             'Q: {question}', True, 300, 'abc')
    with made() as client:
        client.ground('r', prompt=prompt)
        client.ground('r')
    assert client.backend.requests[0][0].prompt == prompt
    assert client.backend.requests[1][0].prompt == GroundingPrompt()


def test_what_each_call_cost_is_told(made: Callable) -> None:
    with made() as client:
        first, second = client.ground('r', 'g'), client.ground('r')
        client.backend.usage = None
        uncounted = client.ground('r')
    assert messages.usage_from_msg(first.usage) == Usage(2, 100, 10, 0.5)
    assert messages.usage_from_msg(second.usage) == Usage(1, 100, 10, 0.5)
    assert messages.usage_from_msg(uncounted.usage) is None


def test_a_limit_on_spending_keeps_its_kind(made: Callable) -> None:
    with made() as client:
        client.backend.fail = SpendingCapError('5 USD are spent')
        assert client.ground('r').error_code == SpendingCapError.code


def test_what_the_run_has_spent_counts_against_the_limit(made: Callable) -> None:
    """Whatever this process has spent on other runs before."""
    with made() as client:
        carried: list[Usage] = []
        client.backend.carry_over = carried.append
        client.backend.traits = replace(ScriptedBackend.traits, capped=True)
        call = ServiceCaller(client.node, StartRun, 'grounder/start_run', names.GROUNDER)
        client.ground('r', 'g')
        for spent in (None, Usage(5, 150, 20, 2.0)):
            assert call(StartRun.Request(spent=MESSAGES.usage_to_msg(spent)),
                        LIMIT_S).error_code == 0
        totals = [earlier + client.backend.usage for earlier in carried]
        client.backend.traits = ScriptedBackend.traits
        assert call(StartRun.Request(), LIMIT_S).error_code == 0, 'one without limits'
    assert [(u.prompt_tokens, u.cost_usd) for u in totals] == [(0, 0.0), (150, 2.0)]


def test_what_a_run_spends_is_told_whatever_becomes_of_its_requests(made: Callable) -> None:
    """Requests that fail or are not waited for cost the same, and soon, not only at their end."""
    told: list[tuple[str, Usage]] = []
    with made() as client:
        client.node.create_subscription(
            msg.Usage, names.SPENDING[names.GROUNDER], lambda m: told.append(
                (m.run, messages.usage_from_msg(m))), qos.EVENTS)
        call = ServiceCaller(client.node, StartRun, 'grounder/start_run', names.GROUNDER)
        client.backend.carry_over = lambda spent: None
        client.backend.traits = replace(ScriptedBackend.traits, capped=True)
        client.ground('r')
        assert call(StartRun.Request(out='/a/run'), LIMIT_S).error_code == 0
        eventually(lambda: told == [('/a/run', Usage(cost_usd=0.0))], 'nothing of before')
        client.backend.fail = BackendError('out of memory')
        assert client.ground('r', 'g').error_code == BackendError.code
        eventually(lambda: told[-1] == ('/a/run', Usage(2, 100, 10, 0.5)), 'a failure')
        client.backend.may_go_on.clear()
        assert client.ground('r', timeout_s=0.2).error_code == DeadlineError.code
        eventually(lambda: told[-1] == ('/a/run', Usage(3, 200, 20, 1.0)), 'one that hangs')
        client.backend.usage += Usage(4, 1, 1, 1.0)
        eventually(lambda: told[-1] == ('/a/run', Usage(7, 201, 21, 2.0)), 'and goes on')
        client.backend.may_go_on.set()
        client.backend.fail = None
        assert call(StartRun.Request(out='/b/run'), LIMIT_S).error_code == 0
        client.ground('r')
        eventually(lambda: told[-1] == ('/b/run', Usage(1, 100, 10, 0.5)), 'the next run')
    assert len(told) == len(set(told)), 'nothing is told twice'


def test_requests_and_replies_are_recorded(made: Callable, tmp_path: Path) -> None:
    folder = tmp_path / 'made' / 'here'
    with made(record=str(folder)) as client:
        client.ground('r', episode_id='one', new_episode=True)
    recording = read_recording(folder / 'replies-grounder.jsonl')
    assert recording.model == 'scripted-1'
    (entry,) = recording.episodes['one']
    assert entry.reply == Answer('Yes', 0.75, 0.25)
    (line,) = (line.data for line in read_lines(recording.path).lines
               if line.data['kind'] == 'reply')
    assert line['content']['question'] == 'Is r clear?'
    assert [path.name for path in folder.iterdir()] == ['replies-grounder.jsonl']


def test_failure_of_the_backend_is_an_error_of_that_request_only(made: Callable) -> None:
    with made() as client:
        client.backend.fail = BackendError('out of memory')
        reply = client.ground('r')
        assert (reply.error_code, reply.error_msg) == (BackendError.code, 'out of memory')
        client.backend.fail = None
        assert client.ground('r').error_code == 0


ODD = 'bad prompt near \ud83d and \0'


def test_odd_text_of_a_server_ends_no_node(made: Callable) -> None:
    """Half of a surrogate pair can be neither logged nor sent."""
    with made() as client:
        client.backend.fail = BackendError(ODD)
        reply = client.ground('r')
        assert (reply.error_code, reply.error_msg) == (
            BackendError.code, 'bad prompt near \\ud83d and \\x00')
        client.backend.fail, client.backend.name = None, f'one {ODD}'
        assert client.ground('r').model == 'one bad prompt near \ufffd and \ufffd'


@pytest.mark.parametrize('error', [BackendError(ODD), ValueError(ODD)])
def test_odd_text_while_loading(made: Callable, error: Exception,
                                capfd: pytest.CaptureFixture) -> None:
    with made(fail=error, autostart=False) as client:
        assert not client.change(Transition.TRANSITION_CONFIGURE)
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
    said = '\\ud83d' if isinstance(error, BackendError) else '\ufffd'
    assert f'bad prompt near {said}' in capfd.readouterr().err


def test_deadline_of_a_request_and_life_meanwhile(made: Callable) -> None:
    with made() as client:
        client.backend.may_go_on.clear()
        reply = client.ground('r', timeout_s=0.2)
        assert reply.error_code == DeadlineError.code
        assert '0.2 s' in reply.error_msg
        assert not reply.verdicts
        assert client.state() == State.PRIMARY_STATE_ACTIVE, 'the executor is not blocked'
        client.backend.may_go_on.set()
        assert client.ground('r').error_code == 0


def test_a_request_that_waited_too_long_is_dropped(made: Callable) -> None:
    with made() as client:
        client.backend.may_go_on.clear()
        client.ground('r', timeout_s=0.1)
        client.ground('g', timeout_s=0.1)
        client.backend.may_go_on.set()
        client.ground('b')
    asked = [request[0].question.atom.args[0] for request in client.backend.requests]
    assert asked == ['r', 'b']


def test_images_that_cannot_be_read_are_named(made: Callable) -> None:
    with made() as client:
        request = query_messages.fill_questions(Ground.Request(), client.questions('r'))
        request.observation = conversions.observation_to_request(Observation(IMAGE, 7))
        request.observation.image[0].encoding = 'bayer_rggb8'
        reply = client.ground_service(request, LIMIT_S)
    assert reply.error_code == InputError.code
    assert 'bayer_rggb8' in reply.error_msg


@pytest.mark.parametrize(('atoms', 'what'), [
    (['clear r', 'clear g'], '2 atoms have 1 wordings'), (['clear(r'], "question '?': atom")])
def test_questions_that_cannot_be_read_are_named(made: Callable, atoms: list[str],
                                                 what: str) -> None:
    with made() as client:
        request = Ground.Request(
            atoms=atoms, questions=['?'],
            observation=conversions.observation_to_request(Observation(IMAGE, 7)))
        reply = client.ground_service(request, LIMIT_S)
        assert client.ground('r').error_code == 0
    assert (reply.error_code, reply.error_msg[:len(what)]) == (InputError.code, what)


@pytest.mark.parametrize(('atom', 'question', 'domain', 'said'), [
    ('onn g,b', 'Is the green block on top of the blue block?', '', 'not an atom of this domain'),
    ('on g', 'Is the green block on top of the blue block?', '', 'not an atom of this domain'),
    ('on g,b', 'Is the green block the topmost of its column?', '',
     "is not about on g,b: ask 'Is the green block on top of the blue block?'"),
    ('on g,b', 'Is the red block on top of the blue block?', '', 'is not about on g,b'),
    ('on g,b', 'Is the green one upon the blue one?', '', ''),
    ('on g,b', 'Is the green block on top of the blue block?', '', ''),
    ('reachable sink_1', 'Is the sink reachable?', '', ''),  # of another domain that there is
    ('reachable sink_1', 'Is the sink reachable?', 'blocksworld', 'not an atom of this domain')])
def test_an_atom_that_does_not_fit_its_question_is_refused(
        made: Callable, atom: str, question: str, domain: str, said: str) -> None:
    with made(domain='blocksworld') as client:
        reply = client.ground_service(Ground.Request(
            atoms=[atom], questions=[question], domain=domain,
            observation=conversions.observation_to_request(Observation(IMAGE, 7))), LIMIT_S)
        asked = len(client.backend.requests)
    assert said in reply.error_msg
    assert (reply.error_code, asked) == ((InputError.code, 0) if said else (0, 1))


def test_a_refused_question_does_not_cost_the_others_where_the_rest_is_to_be_asked(
        made: Callable) -> None:
    """With keep_going a refused question does not cost the others."""
    with made(domain='blocksworld') as client:
        for keep_going, verdicts in ((False, []), (True, [1, 0, 1])):
            reply = client.ground_service(Ground.Request(
                atoms=['on r,b', 'flies zzz', 'on r,g'], keep_going=keep_going,
                questions=['Is the red block on top of the blue block?', 'Does zzz fly?',
                           'Is the red block on top of the green block?'],
                observation=conversions.observation_to_request(Observation(IMAGE, 7))), LIMIT_S)
            assert (reply.error_code, list(reply.verdicts)) == (InputError.code, verdicts)
            assert 'flies zzz' in reply.error_msg
            assert list(reply.texts) == [{1: 'Yes', 0: ''}[number] for number in verdicts]


def test_a_model_of_one_domain_checks_atoms_where_no_other_domain_is_named(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedBackend, 'traits', Traits(
        pixels=False, prompt=False, domain='blocksworld', refuses=True))
    with made() as client:
        for atom in ('flies zzz', 'clear r'):
            reply = client.ground_service(Ground.Request(
                atoms=[atom], questions=['Is the green block on top of the blue block?'],
                observation=conversions.observation_to_request(Observation(IMAGE, 7))), LIMIT_S)
            assert reply.error_code == InputError.code and atom in reply.error_msg
        assert not client.backend.requests


def test_words_that_are_not_the_domain_s_own_are_answered_with_what_they_were_read_as(
        made: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedBackend, 'traits', Traits(
        pixels=False, prompt=False, domain='blocksworld'))
    own = 'Is the red block on top of the blue block?'
    topmost = 'Is the red block the topmost of its column?'
    with made() as client:
        for texts, read_as in (((own, own), []), (
                (own, 'Is anything on the red block?'), ['', f'the opposite of {topmost!r}'])):
            reply = client.ground_service(Ground.Request(
                atoms=['on r,b', 'on r,b' if texts[1] == own else 'clear r'], questions=texts,
                observation=conversions.observation_to_request(Observation(IMAGE, 7))), LIMIT_S)
            assert reply.error_code == 0, reply.error_msg
            assert list(reply.read_as) == read_as


def test_a_picture_is_known_by_its_id(made: Callable) -> None:
    with made() as client:
        unknown = client.ground('r', with_image=False)
        assert unknown.error_code == UnknownImageError.code
        assert client.ground('r').error_code == 0
        known = client.ground('b', with_image=False)
    assert (known.error_code, len(known.verdicts)) == (0, 1)
    first, second = (request[0].observation for request in client.backend.requests)
    np.testing.assert_array_equal(second.image, IMAGE)
    assert (second.stamp_ns, second.image_id) == (7, first.image_id) == (7, known.image_id)


def test_a_picture_comes_from_the_camera_by_its_stamp(made: Callable) -> None:
    other = np.full_like(IMAGE, 9)

    def asked(stamp_ns: int, image: np.ndarray, labelled: bool = False) -> Ground.Request:
        request = query_messages.fill_questions(Ground.Request(), Client.questions('r'))
        request.observation = conversions.observation_to_request(
            Observation(image, stamp_ns),
            names.CAMERA_LABELLED if labelled else names.CAMERA_IMAGE)
        assert not request.observation.image
        return request

    with made() as client:
        unseen = client.ground_service(asked(5, IMAGE), LIMIT_S)
        camera = {topic: client.node.create_publisher(Image, topic, qos.SENSOR)
                  for topic in (names.CAMERA_IMAGE, names.CAMERA_LABELLED)}
        for topic, image in ((names.CAMERA_IMAGE, IMAGE), (names.CAMERA_LABELLED, other)):
            eventually(camera[topic].get_subscription_count, topic)
            for stamp_ns in (5, 10**9):  # the same again, at another time
                camera[topic].publish(MESSAGES.image_to_msg(image, stamp_ns, 'optical'))

        def arrived() -> bool:
            return client.ground_service(asked(7, IMAGE), LIMIT_S).error_code == 0
        eventually(arrived, 'the picture')
        assert client.ground_service(asked(7, other, labelled=True), LIMIT_S).error_code == 0
        camera[names.CAMERA_IMAGE].publish(MESSAGES.image_to_msg(other + 1, 2 * 10**9, 'optical'))
        wrong = client.ground_service(asked(2 * 10**9, IMAGE + 3), LIMIT_S)
        late = client.ground_service(asked(3 * 10**9 // 2, IMAGE + 3), LIMIT_S)
    first, second = (queries[0].observation for queries in client.backend.requests[-2:])
    assert (first.stamp_ns, first.image_id) == (7, Observation(IMAGE).image_id)
    np.testing.assert_array_equal(second.image, other)
    assert {reply.error_code for reply in (unseen, wrong, late)} == {UnknownImageError.code}
    assert '/camera/image_raw: no picture of world time 5 ns came (nobody publishes it)' in (
        unseen.error_msg) and 'QoS' in unseen.error_msg
    assert f'not {Observation(IMAGE + 3).image_id} as the request says' in wrong.error_msg
    assert 'the newest is of 2000000000 ns' in late.error_msg


@pytest.mark.parametrize('frame', ['', 'made_up'])
def test_a_stamp_alone_names_a_picture_of_the_camera_or_is_refused(made: Callable, frame: str,
                                                                   ) -> None:
    """A stamp names a picture of the camera; another than that one is not answered about."""
    def asked(stamp_ns: int) -> Ground.Request:
        request = query_messages.fill_questions(Ground.Request(), Client.questions('r'))
        request.observation.header = MESSAGES.header(stamp_ns, frame)
        return request

    with made() as client:
        camera = client.node.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        eventually(camera.get_subscription_count, 'the subscription')
        camera.publish(MESSAGES.image_to_msg(IMAGE, 5, 'optical'))
        camera.publish(MESSAGES.image_to_msg(IMAGE + 1, 9, 'optical'))
        eventually(lambda: client.ground_service(asked(9), LIMIT_S).error_code == 0, 'a picture')
        assert client.ground_service(asked(5), LIMIT_S).error_code == 0
        (query,) = client.backend.requests[-1]
        unknown = client.ground_service(asked(12345 * 10**9), LIMIT_S)
    assert (query.observation.stamp_ns, query.observation.frame_id) == (5, 'optical')
    np.testing.assert_array_equal(query.observation.image, IMAGE)
    assert unknown.error_code == UnknownImageError.code
    assert 'no picture of world time 12345000000000 ns came' in unknown.error_msg
    with made(from_camera=False) as client:
        refused = client.ground_service(asked(5), LIMIT_S)
    assert refused.error_code == InputError.code and 'leave out the stamp' in refused.error_msg


def test_the_next_picture_keeps_its_header_whatever_frame_the_request_names(made: Callable,
                                                                            ) -> None:
    request = query_messages.fill_questions(Ground.Request(), Client.questions('r'))
    request.observation.header.frame_id = 'made_up'
    with made() as client:
        camera = client.node.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        eventually(camera.get_subscription_count, 'the subscription')
        replies: list[Ground.Response] = []
        asking = threading.Thread(
            target=lambda: replies.append(client.ground_service(request, LIMIT_S)))
        asking.start()

        def answered() -> bool:
            camera.publish(MESSAGES.image_to_msg(IMAGE, 11, 'optical'))
            return bool(replies)
        eventually(answered, 'the reply')
        asking.join(LIMIT_S)
        (query,) = client.backend.requests[-1]
    assert (query.observation.stamp_ns, query.observation.frame_id) == (11, 'optical')


def test_another_picture_than_its_id_says_is_refused(made: Callable) -> None:
    with made() as client:
        request = query_messages.fill_questions(Ground.Request(), client.questions('r'))
        request.observation = conversions.observation_to_request(Observation(IMAGE, 7))
        request.observation.image_id = '0' * 16
        reply = client.ground_service(request, LIMIT_S)
    assert reply.error_code == InputError.code
    assert not client.backend.requests


def test_pictures_are_kept_up_to_a_size() -> None:
    kept = conversions.RequestedObservations(most_bytes=2 * IMAGE.nbytes)

    def request(value: int, with_image: bool) -> msg.Observation:
        return conversions.observation_to_request(
            Observation(np.full_like(IMAGE, value), value), with_image=with_image)
    for value in range(3):
        kept.read(request(value, True))
    assert [kept.read(request(value, False)).stamp_ns for value in (1, 2)] == [1, 2]
    with pytest.raises(UnknownImageError, match='send it'):
        kept.read(request(0, False))
    large = conversions.RequestedObservations(most_bytes=1)
    large.read(request(5, True))
    assert large.read(request(5, False)).image_id, 'the newest in any case'


def test_depth_of_the_picture_comes_with_it(made: Callable) -> None:
    with made(autostart=False) as client:
        client.backend.traits = Traits(depth=True)
        assert client.change(Transition.TRANSITION_CONFIGURE)
        assert client.change(Transition.TRANSITION_ACTIVATE)
        assert client.ground('r').error_code == 0, 'nobody publishes depth'
        world = client.node.create_publisher(Image, names.CAMERA_DEPTH, qos.SENSOR)
        eventually(lambda: bool(world.get_subscription_count()), 'a subscription to depth')

        def arrived() -> bool:  # one that is subscribed to may still miss what comes at once
            for stamp_ns, metres in ((7, 2.0), (10**9, 2.0), (2 * 10**9, 3.0)):
                world.publish(conversions.depth_to_msg(
                    np.full(IMAGE.shape[:2], metres, np.float32), stamp_ns))
            assert client.ground('r').error_code == 0
            return client.backend.requests[-1][0].observation.depth_m is not None
        eventually(arrived, 'depth')
        assert client.ground('b', with_image=False).error_code == 0
        assert client.change(Transition.TRANSITION_DEACTIVATE)
        assert client.change(Transition.TRANSITION_CLEANUP)
        eventually(lambda: not world.get_subscription_count(), 'the end of the subscription')
    first, *others = (request[0].observation.depth_m for request in client.backend.requests)
    assert first is None
    assert [float(depth.max()) for depth in others[-2:]] == [2.0, 2.0]


def test_lifecycle(made: Callable) -> None:
    with made(autostart=False) as client:
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        assert client.change(Transition.TRANSITION_CONFIGURE)
        assert client.state() == State.PRIMARY_STATE_INACTIVE
        with pytest.raises(DeadlineError, match='grounder is not there'):
            client.ground_service.wait_until_there(0.3)
        assert client.change(Transition.TRANSITION_ACTIVATE)
        assert client.ground('r').error_code == 0
        assert client.change(Transition.TRANSITION_DEACTIVATE)
        assert client.change(Transition.TRANSITION_ACTIVATE)
        assert client.ground('r').error_code == 0
        assert client.change(Transition.TRANSITION_DEACTIVATE)
        assert client.change(Transition.TRANSITION_CLEANUP)
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED


def test_an_impossible_transition_is_refused_and_the_node_goes_on(made: Callable) -> None:
    """The reply says that it was refused; an error of rclpy would end the node."""
    with made(autostart=False) as client:
        assert not client.change(Transition.TRANSITION_ACTIVATE)
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        assert not client.change(99)
        assert client.change(Transition.TRANSITION_CONFIGURE)
        assert not client.change(Transition.TRANSITION_CONFIGURE)
        assert client.change(Transition.TRANSITION_ACTIVATE)
        assert not client.change(Transition.TRANSITION_ACTIVATE)
        assert client.state() == State.PRIMARY_STATE_ACTIVE
        assert client.ground('r').error_code == 0


def test_shows_what_is_in_use(made: Callable) -> None:
    with made(seed=7, backend_options='table=gpt-4.1') as client:
        client.ground_service.wait_until_there(LIMIT_S)
        assert client.parameter('model') == 'scripted-1'
        assert client.parameter('model_domain') == ''
        assert '"seed": 7' in client.parameter('backend_settings')
        assert '"table": "gpt-4.1"' in client.parameter('backend_settings')


def test_shows_the_domain_that_the_model_was_made_for(made: Callable, tmp_path: Path) -> None:
    """Also when the node is configured once more, with another model."""
    with made(autostart=False, record=str(tmp_path)) as client:
        for domain in ('chess', 'pantry'):
            client.backend.traits = replace(ScriptedBackend.traits, domain=domain)
            assert client.change(Transition.TRANSITION_CONFIGURE)
            assert client.parameter('model_domain') == domain
            assert client.change(Transition.TRANSITION_CLEANUP)


@pytest.mark.parametrize('fail', [BackendError('no weights in /models'), RuntimeError('odd')])
def test_a_model_that_does_not_load_leaves_the_node_unconfigured(
        made: Callable, fail: Exception) -> None:
    with made(fail=fail, autostart=False) as client:
        assert not client.change(Transition.TRANSITION_CONFIGURE)
        assert client.state() == State.PRIMARY_STATE_UNCONFIGURED
        assert client.grounder.exit_code is None


@pytest.mark.parametrize('settings', [
    {'fail': BackendError('no weights')}, {'backend': 'nonsense'}, {'backend_options': 'tabel=x'},
    {'record': '/proc/nowhere'}])
def test_with_autostart_it_ends_the_node(made: Callable, settings: dict) -> None:
    with made(**settings) as client:
        eventually(lambda: client.grounder.exit_code is not None, 'the end')
        assert client.grounder.exit_code == 1
