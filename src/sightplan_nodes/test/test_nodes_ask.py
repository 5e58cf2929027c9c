"""The service ~/ask, and the model of another node as a Model of the core."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sightplan_interfaces.srv import Ask, StartRun

from nodes_testing import LIMIT_S, Manager, parameters, spinning
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    SpendingCapError,
    Usage,
)
from sightplan.model.query import (
    Chat,
    Deadline,
    ModelByKind,
    Query,
    Reply,
    Rgb,
    Traits,
    answers,
    ask_all,
    ask_one,
    can_ask,
    part_name,
)
from sightplan.queries import Answer, Detect, Generate, TextReply, YesNo
from sightplan.queries.detect import DetectReply
from sightplan.vlm.recording import read_recording
from sightplan_nodes import backend_node, conversions, names
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.query_messages import read_queries, read_replies, write_queries, write_replies
from sightplan_nodes.remote_model import PublishedPicture, RosModel

IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
DEPTH = np.linspace(0.5, 1.0, 24, dtype=np.float32).reshape(4, 6)


@dataclass(frozen=True, slots=True)
class CountReply(Reply):
    """How many there are, and where: a reply with data of its own."""

    count: int | None = None
    heat: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Count(Query[CountReply]):
    """A kind of query of another package, which no file of ours knows."""

    image: Rgb
    what: str
    atom: Atom | None = None
    seen: Observation | None = None

    kind: ClassVar[str] = 'count_on_ros'
    reply_type: ClassVar[type[Reply]] = CountReply

    def as_chat(self, style: Any) -> Chat[CountReply]:
        return Chat(Generate('', (self.image, f'How many {self.what}?')),
                    lambda reply: CountReply(int(reply.text)))


@dataclass(frozen=True, eq=False)
class Tally(Count):
    """A kind whose queries go to a model together."""

    kind: ClassVar[str] = 'tally_on_ros'

    @property
    def together(self) -> object:
        return 'one batch'


class Backend(ModelByKind):
    """Counts, detects, answers and writes."""

    name = 'counter-1'
    traits = Traits(pixels=False, prompt=False, domain='blocksworld', refuses=True)

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.episodes: list[tuple[str, str]] = []
        self.deadlines: list[Deadline] = []
        self.usage = Usage()
        self.fail: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def start_episode(self, episode_id: str, split: str = '') -> None:
        self.episodes.append((episode_id, split))

    def _take(self, *queries: Query[Any]) -> None:
        self.asked += queries
        self.usage = self.usage + Usage(1, 10, 2, 0.5)
        assert self.may_go_on.wait(LIMIT_S)
        if self.fail is not None:
            raise self.fail

    @answers(Count)
    def count(self, query: Count, deadline: Deadline) -> CountReply:
        self._take(query)
        heat = None if query.seen is None else DEPTH  # a recording has no place for arrays
        return CountReply(int(query.image.sum()), heat, model='a part')

    @answers(Detect)
    def detect(self, query: Detect, deadline: Deadline) -> DetectReply:
        self._take(query)
        return DetectReply(())

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        self._take(query)
        return TextReply('7')

    @answers(YesNo, together=True)
    def answer(self, queries: list[YesNo], deadline: Deadline) -> list[Answer]:
        self._take(*queries)
        return [Answer('Yes', 0.75, 0.25) if one.question.atom.args == ('r',)
                else Answer('perhaps') for one in queries]


class Bench(Manager):
    """A grounder with this model, and the same model as the agent sees it."""

    def __init__(self, backend: Backend, published: dict[str, PublishedPicture]) -> None:
        super().__init__(names.GROUNDER)
        self.backend = backend
        self.model = RosModel(self.node, names.GROUNDER, LIMIT_S, published=published.get)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    @contextlib.contextmanager
    def make(published: dict[str, PublishedPicture] | None = None,
             **settings: object) -> Iterator[Bench]:
        backend = Backend()
        monkeypatch.setattr(backend_node, 'make_backend', lambda *arguments: backend)
        monkeypatch.setattr(backend_node, 'backend_class', lambda name: Backend)
        node = GrounderNode(parameter_overrides=parameters(backend='noisy_oracle', **settings))
        bench = Bench(backend, published or {})
        with spinning(node, bench.node):
            bench.model.wait_until_there(LIMIT_S)
            yield bench
        backend.may_go_on.set()
    return make


def test_a_kind_of_another_package_is_asked_as_in_process(made: Callable[..., Any]) -> None:
    seen = Observation(IMAGE, 9, 'eye', text='blocks', visible_objects=('r',))
    query = Count(IMAGE, 'red things', Atom('on', ('r', 'g')), seen)
    with made() as bench:
        assert can_ask(bench.model, Count)
        bench.model.start_episode('one', 'short')
        assert part_name(bench.model, Count) == 'counter-1'
        replies = ask_all(bench.model, [query, query])
        assert part_name(bench.model, Count) == 'a part'
        assert part_name(bench.model, Detect) == bench.model.name == 'counter-1'
        here = bench.backend.asked[0]
        assert bench.backend.episodes == [('one', 'short')]
    assert [one.count for one in replies] == [int(IMAGE.sum())] * 2
    assert replies[0].model == 'a part' and replies[0].heat.dtype == np.float32
    np.testing.assert_array_equal(replies[0].heat, DEPTH)
    assert (here.key, here.atom, here.seen.stamp_ns) == (query.key, query.atom, 9)
    assert (here.seen.frame_id, here.seen.text) == ('eye', 'blocks')
    assert here.seen.visible_objects == ('r',)


def test_it_is_recorded_by_the_node(made: Callable[..., Any], tmp_path: Any) -> None:
    with made(record=str(tmp_path)) as bench:
        ask_one(bench.model, Count(IMAGE, 'cubes'))
    recording = read_recording(tmp_path / 'replies-grounder.jsonl')
    entry, = (one for entries in recording.episodes.values() for one in entries)
    assert entry.reply.count == int(IMAGE.sum())


def test_what_is_known_of_the_model_is_known_of_the_remote_one(made: Callable[..., Any]) -> None:
    with made() as bench:
        assert (bench.model.name, bench.model.traits) == ('counter-1', Backend.traits)
        assert bench.model.accepts == Backend.accepts
        assert ask_one(bench.model, Generate('', (IMAGE, 'how many?'))).text == '7'
        assert bench.model.usage == Usage(1, 10, 2, 0.5)


def test_yes_no_questions_are_one_request_with_the_words_around_them(
        made: Callable[..., Any]) -> None:
    seen = Observation(IMAGE, 7)
    prompt = GroundingPrompt('p', 'You see.', question='Q: {question}', sha256='abc')
    queries = [YesNo(seen, Question(Atom('clear', (name,)), f'Is {name} clear?'), prompt)
               for name in 'rg']
    with made() as bench:
        replies = ask_all(bench.model, queries)
        assert replies == [Answer('Yes', 0.75, 0.25), Answer('perhaps')]
        assert [one.key for one in bench.backend.asked] == [one.key for one in queries]
        assert bench.model.usage == Usage(1, 10, 2, 0.5)


def test_a_picture_is_sent_once_and_again_only_where_it_was_lost(
        made: Callable[..., Any]) -> None:
    sent: list[list[bool]] = []
    published = {Observation(IMAGE).image_id: PublishedPicture(names.CAMERA_IMAGE, 5, 'eye')}
    with made() as bench:
        call = bench.model._service.checked

        def spy(request: Ask.Request, *arguments: Any) -> Any:
            sent.append([bool(one.image) for one in request.observations])
            return call(request, *arguments)
        bench.model._service.checked = spy  # type: ignore[method-assign]
        for what in ('cubes', 'balls'):
            ask_one(bench.model, Count(IMAGE, what))
        assert sent == [[True], [False]]
    with made(published) as other:  # alone: two grounders of one name would answer each other
        assert ask_one(other.model, Count(IMAGE, 'cubes')).count, 'nobody publishes it: it is sent'


@pytest.mark.parametrize('error', [BackendError('out of memory'), SpendingCapError('5 USD')])
def test_errors_keep_their_kind(made: Callable[..., Any], error: Exception) -> None:
    with made() as bench:
        bench.backend.fail = error
        with pytest.raises(type(error), match=str(error)):
            ask_one(bench.model, Count(IMAGE, 'cubes'))
        assert (bench.model.capped is not None) is isinstance(error, SpendingCapError)
        bench.model.start_episode('next')
        assert bench.model.capped is None


def test_a_limit_on_spending_counts_the_whole_run(made: Callable[..., Any]) -> None:
    """Of earlier sessions, and of this one: also calls that failed."""
    carried: list[Usage] = []
    earlier = Usage(3, 30, 6, 1.5)
    with made() as bench:
        bench.backend.carry_over = carried.append  # type: ignore[attr-defined]
        bench.backend.traits = replace(Backend.traits, capped=True)
        model = RosModel(bench.node, names.GROUNDER, LIMIT_S, start_run=ServiceCaller(
            bench.node, StartRun, 'grounder/start_run', names.GROUNDER, repeatable=True))
        model.carry_over(earlier)
        ask_one(model, Count(IMAGE, 'cubes'))
        bench.backend.fail = BackendError('out of memory')
        with pytest.raises(BackendError):
            ask_one(model, Count(IMAGE, 'balls'))
        model.carry_over(earlier)
        assert model.usage == bench.backend.usage == Usage(2, 20, 4, 1.0)
        assert carried == [earlier, earlier], 'the model counts its own calls besides'
        model.begin_run()
        model.carry_over(Usage())
        assert carried[-1] == Usage(-2, -20, -4, -1.0), 'another run has spent nothing yet'


@pytest.mark.parametrize('error', [BackendError('out of memory'), SpendingCapError('5 USD')])
def test_what_was_answered_before_an_error_comes_with_it(made: Callable[..., Any],
                                                         error: Exception) -> None:
    seen = Observation(IMAGE, 9)
    queries = [YesNo(seen, Question(Atom('clear', (name,)), name)) for name in 'rgb']
    error.partial = [Answer('Yes', 0.75, 0.25), None, None]  # type: ignore[attr-defined]
    with made() as bench:
        bench.backend.fail = error
        with pytest.raises(type(error)) as caught:
            ask_all(bench.model, queries)
        assert caught.value.partial == [Answer('Yes', 0.75, 0.25), None, None]
        error.partial = []  # type: ignore[attr-defined]
        with pytest.raises(type(error)) as caught:
            ask_all(bench.model, queries)
        assert not any(caught.value.partial)


def test_a_query_that_fails_need_not_cost_the_others(made: Callable[..., Any]) -> None:
    seen = Observation(IMAGE, 9)
    questions = [YesNo(seen, Question(Atom('clear', (name,)), name)) for name in 'rgb']
    tallies = [Tally(IMAGE, name) for name in 'rgb']
    for queries, replies in ((questions, [None, Answer('Yes', 0.75, 0.25), None]),
                             (tallies, [CountReply(3), None, CountReply(0)])):
        for keep_going in (True, False):
            error = BackendError('out of memory')
            error.partial = replies
            with made() as bench:
                bench.backend.fail = error
                bench.backend.ask = partial(_spy, bench.backend, error)
                with pytest.raises(BackendError) as caught:
                    ask_all(bench.model, queries, Deadline(LIMIT_S, keep_going))
                assert bench.backend.deadlines[-1].keep_going is keep_going
                assert caught.value.partial == replies


def _spy(backend: Backend, error: BackendError, queries: list[Query[Any]], deadline: Deadline,
         ) -> list[Reply]:
    backend.deadlines.append(deadline)
    raise error


def test_a_deadline_holds(made: Callable[..., Any]) -> None:
    with made() as bench:
        bench.backend.may_go_on.clear()
        with pytest.raises(DeadlineError, match='grounder'):
            ask_one(bench.model, Count(IMAGE, 'cubes'), 0.3)
        with pytest.raises(DeadlineError, match='has passed'):
            ask_one(bench.model, Count(IMAGE, 'cubes'), -1.0)
        bench.backend.may_go_on.set()


@pytest.mark.parametrize(('queries', 'words'), [
    (['{'], 'is not JSON'), (['[]'], 'not a JSON object'), (['{"kind": "smell"}'], "'smell'"),
    (['{"kind": "count_on_ros", "what": "x", "image": {"image": "0123456789abcdef"}}'],
     'is in no observation of the request'),
    (['{"kind": "count_on_ros", "what": "x", "image": 7}'], 'Count.image'),
    (['{"kind": "count_on_ros", "what": "x", "seen": 3}'], 'Count.seen')])
def test_requests_that_cannot_be_read_are_refused_by_name(
        made: Callable[..., Any], queries: list[str], words: str) -> None:
    with made() as bench:
        service = ServiceCaller(bench.node, Ask, names.ASK, names.GROUNDER)
        reply = service(Ask.Request(queries=queries, observations=[
            conversions.observation_to_request(Observation(IMAGE))]), LIMIT_S)
        assert reply.error_code == InputError.code
        assert words in reply.error_msg
        assert not bench.backend.asked


def test_a_query_with_room_for_depth_gets_that_of_its_picture() -> None:
    query = Detect(IMAGE, None, 1)
    written, seen = write_queries([query], Observation)
    again, = read_queries(written, seen, lambda one: DEPTH)
    np.testing.assert_array_equal(again.depth_m, DEPTH)  # type: ignore[attr-defined]
    own, = read_queries(*write_queries([Detect(IMAGE, 2 * DEPTH, 1)], Observation),
                        lambda one: DEPTH)
    np.testing.assert_array_equal(own.depth_m, 2 * DEPTH)  # type: ignore[attr-defined]


def test_a_picture_may_be_named_by_the_number_of_its_observation() -> None:
    written = json.dumps({'kind': 'detect', 'image': {'image': '1'}, 'attempt': 0})
    again, = read_queries([written], [Observation(IMAGE * 0), Observation(IMAGE)],
                          lambda one: DEPTH)
    np.testing.assert_array_equal(again.pictures[0], IMAGE)
    with pytest.raises(InputError, match='picture 2 is in no observation of the request'):
        read_queries([written.replace('"1"', '"2"')], [Observation(IMAGE)], lambda one: None)


def test_an_observation_of_several_queries_is_one() -> None:
    seen = Observation(IMAGE, 7)
    queries = [YesNo(seen, Question(Atom('clear', (name,)), name)) for name in 'rgb']
    written, observations = write_queries(queries, Observation)
    assert observations == [seen] and json.loads(written[0])['question']['atom'] == 'clear r'
    again = read_queries(written, observations, lambda one: None)
    assert len({one.together for one in again}) == 1, 'they still go to the model together'


def test_replies_and_queries_are_as_many() -> None:
    with pytest.raises(InputError, match='1 queries have 2 replies'):
        read_replies(write_replies([CountReply(1), CountReply(2)]), [Count(IMAGE, 'x')])
