"""Readers of model replies: answers, plans, moves, places, choices, ratings, servers' JSON."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, cast

import numpy as np

from sightplan.model import BackendError, Form, InputError
from sightplan.model.query import Deadline, ModelByKind, answers, ask_one
from sightplan.model.sample import SampleReply, Words
from sightplan.queries import (
    Detect,
    DetectInstances,
    Generate,
    Locate,
    LocateReply,
    TextReply,
)
from sightplan.queries.chat import ChatStyle
from sightplan_bench.hostile.files import _domain
from sightplan_bench.hostile.suite_data import suites
from sightplan_bench.hostile.targets import Outcome, Seed, Target, refused

_TURNS = 3
_YES_NO = ('Yes', 'no.', 'unknown', '<think>hm</think> Yes, it is.', '<answer>no</answer>',
           'I cannot tell.', 'The block is red. <answer>Yes</answer>', '**No**')
_PLANS = (
    'I would move r to c1.', '{"plan": []}',
    '{"explanation": "so", "plan": [{"action": "moveblock", "parameters": ["r", "c2"]}]}',
    '[{"action": "open", "parameters": ["drawer_1"]}]')
_MOVES = ('action: move red cube left', 'I think.\naction: move tile 5 up 3', 'action: done',
          'description: a1 red cube, b2 blue sphere\naction: move blue sphere down',
          'move the green pyramid to the right', 'Action: **move** light blue prism LEFT')
_BOARDS = ('Solution: a3 green sphere, d1 blue cylinder', 'Solution:\na1 red cube;\nb2 tile 5',
           'I see.\nSolution: a3, green, sphere')
_PLACES = ('[[0.1, 0.2, 0.3, 0.4]]', '[{"bbox_2d": [10, 20, 200, 300], "label": "mug"}]',
           '{"found": true, "points": [[512, 300]]}',
           '<point x="12.5" y="40.1" alt="mug">mug</point>',
           '(0.35, 0.41)', '```json\n[{"point": [420, 300], "label": "mug"}]\n```',
           '{"exists": false}', '<points coords="1 1 234 567 2 345 678">mugs</points>',
           '{"trace": [[10, 20], [30, 40], [50, 60]]}', '[(0.1, 0.2), (0.3, 0.4)]',
           '{"x1": 0.1, "y1": 0.2, "x2": 0.5, "y2": 0.6}', 'There is no mug.')
_THINGS = ('[{"label": "red mug", "box_2d": [100, 200, 300, 400]}]',
           '```json\n[{"label": "top drawer", "bbox_2d": [1, 2, 3, 4], "open": true}]\n```',
           '[]')
_CHOICES = ('Answer: Path 1', 'Answer: Path 2.\nExplanation: it is shorter.', 'Path one', 'B',
            'Answer: path length; smoothness', 'minimum clearance: Path 1\npath length: Path 2')
_STEPS = (
    '[{"action": "grasp", "bbox": [10, 20, 60, 80]}, {"action": "place", "point": [50, 34]}]',
    '[{"action": "open", "target": "drawer", "bbox": [0.1, 0.2, 0.3, 0.4]}]',
    '{"coords": "unit_xyxy", "actions": [{"action": "close", "bbox": [0, 0, 1, 1]}]}')
_STEPS_IN_WORDS = (
    ('[{"action": "grasp", "target": "the red mug", "bbox": [10, 20, 60, 80]}, '
     '{"action": "place", "target": "the tray", "point": [50, 34]}]'), *_STEPS)
_RATINGS = ('{"score": 4, "explanation": "good"}', '```json\n{"score": "3"}\n```',
            '{"better": "A", "explanation": "it ends there"}')
_INSTRUCTIONS = (
    'Put the red mug on the tray and the two balls into the crate. Close the top drawer.',
    'open the bottom drawer, then put all apples but the green one into it, and close it.',
    'Could you please put the banana nearest to the blue plate into the bowl?',
    'The forks belong in the lower drawer, which should be open in the end')
_REGIONS = ('[{"form": "point", "points": [[0.5, 0.5]]}]',
            '[{"form": "box", "points": [[0.1, 0.2], [0.3, 0.4]], "label": "a"}]',
            '[{"form": "trace", "points": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.5]]}]')


def make(folder: Path) -> list[Target]:
    """Readers of replies, as targets."""
    return [*_answers(), *_proposals(), *_boards(), *_pointing(), *_choosing(),
            *_of_suites(folder), *_instructions(folder), *_servers()]


def _all_refused(reasons: Sequence[str]) -> Outcome | None:
    """Whether a reply that was read in several ways is of use in none."""
    '\n'.join(reasons).encode()
    return Outcome.REFUSED if all(reasons) else None


def _texts(*texts: str) -> tuple[Seed, ...]:
    return tuple(Seed(text.encode()) for text in texts)


def _target(name: str, seeds: tuple[str, ...], read: Callable[[str], Outcome | None],
            refusals: tuple[type[Exception], ...] = (InputError,)) -> Iterator[Target]:
    """A reader as target; values of JSON replies are spoilt as well."""
    yield Target(name, 'replies', 'text', _texts(*seeds), read, refusals, _TURNS)
    data = [seed for seed in seeds if seed.startswith(('{', '['))]
    plain = [seed for seed in data if _is_json(seed)]
    if plain:
        yield Target(f'{name}, JSON', 'replies', 'json', _texts(*plain), read, refusals,
                     _TURNS)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# ----------------------------------------------------------------------------- answers and plans


class _FixedReplyModel(ModelByKind):
    """A model that always replies a given text."""

    name = 'says'

    def __init__(self, text: str) -> None:
        self._text = text

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        return TextReply(self._text)


def _answers() -> Iterator[Target]:
    from sightplan.model.yes_no_text import PARSERS

    def read(text: str) -> Outcome | None:
        from sightplan.model import Verdict
        return Outcome.REFUSED if Verdict.UNPARSED in (
            parse(text) for parse in PARSERS.values()) else None

    def wishes(text: str) -> None:
        from sightplan_suites.paths.wishes import understand
        understand(_FixedReplyModel(text), 'carry a full glass')

    yield from _target('answers to yes/no questions', _YES_NO, read)
    yield from _target('what a task in words wants', _YES_NO, wishes)


@functools.cache
def _task(name: str, prompt: str) -> tuple[Any, Any, Any]:
    """A planner's domain, task and observation."""
    from sightplan.model import Observation
    from sightplan.model.planning import VisualTask
    domain = _domain(name)
    problem = domain.split_problems(domain.splits[0])[0].for_agent()
    return domain, VisualTask(problem, prompt), Observation(np.zeros((8, 8, 3), np.uint8))


def _proposals() -> Iterator[Target]:
    from sightplan.model import ProposalStatus

    def read(text: str, name: str, prompt: str) -> Outcome | None:
        from sightplan.planning.visual import BackendVisualPlanner
        domain, task, seen = _task(name, prompt)
        planner = BackendVisualPlanner(_FixedReplyModel(text), domain)
        proposal = planner.propose(seen, task)
        (proposal.message + proposal.named + proposal.explanation + proposal.text).encode()
        return None if proposal.status is ProposalStatus.PLANNED else Outcome.REFUSED

    for name in ('blocksworld', 'household', 'tabletop', 'sliding'):
        domain = _domain(name)
        for prompt in ('plan', 'plan_cot', 'action', 'action_cot'):
            if prompt in domain.prompt_names:
                moves = name == 'sliding' and prompt.startswith('action')
                yield from _target(
                    f'{prompt} of {name}', _MOVES if moves else (*_plans(domain, prompt), *_PLANS),
                    functools.partial(_of(read), name=name, prompt=prompt))


def _plans(domain: Any, prompt: str) -> Iterator[str]:
    """Replies that are right, in several forms."""
    problem = domain.split_problems(domain.splits[0])[0]
    steps = []
    for action in domain.model(problem).actions[:3]:
        names = domain.prompts.actions[action.name].parameters
        steps.append({'action': action.name,
                      'parameters': dict(zip(names, action.args, strict=True))})
    whole: Any = {'plan': steps} if prompt.startswith('plan') else steps[0]
    if prompt.endswith('cot'):
        whole = {'explanation': 'it is near', **whole}
    yield json.dumps(whole)
    yield f'<think>first</think>\n```json\n{json.dumps(whole, indent=1)}\n```'
    yield str(whole).replace("'}", "',}")


def _of(read: Callable[..., Outcome | None]) -> Callable[..., Outcome | None]:
    return read


def _boards() -> Iterator[Target]:
    from sightplan.domains.sliding.by_hand import read_line
    from sightplan.domains.sliding.readings import read_description, read_scene
    domain = _domain('sliding')
    problem = domain.split_problems(domain.splits[0])[0]
    asked = domain.worth_asking(problem)

    def scene(text: str) -> Outcome | None:
        read_description(text)
        return Outcome.REFUSED if read_scene(text, asked) is None else None

    def typed(text: str) -> None:
        read_line(problem, text)

    yield from _target('boards', _BOARDS, scene)
    yield from _target('moves that a person types', ('move red cube left', 'red cube up 2; done',
                                                     'start'), typed)


# ------------------------------------------------------------------------------ places and choices


def _pointing() -> Iterator[Target]:
    from sightplan.model import Target as Wanted
    from sightplan.queries.pointing import Pointing, family_names, load_family
    image = np.zeros((48, 64, 3), np.uint8)

    def read(text: str, name: str) -> Outcome | None:
        reasons = []
        family = load_family(name)
        style = ChatStyle(Pointing(family, family.coordinates, False), lambda picture: (644, 476))
        for form in Form:
            chat = Locate(image, Wanted('the mug', form)).as_chat(style)
            reasons.append(chat.read(TextReply(text)).unread)
        return _all_refused(reasons)

    for name in family_names():
        yield from _target(f'places, {name}', _PLACES, functools.partial(_of(read), name=name))
    yield from _detecting()


def _detecting() -> Iterator[Target]:
    from sightplan.queries.pointing import Pointing, load_family

    def read(text: str) -> Outcome | None:
        family = load_family('json_permille')
        style = ChatStyle(Pointing(family, family.coordinates, False), lambda picture: (644, 476))
        reply = Detect(np.zeros((48, 64, 3), np.uint8)).as_chat(style).read(TextReply(text))
        reply.unread.encode()
        return refused(reply.unread or reply.cannot_tell)

    yield from _target('things and their boxes', _THINGS, read)


def _choosing() -> Iterator[Target]:
    from sightplan.queries.choose import Choose, read_choice, read_letter
    request = Choose(('which?',), ('Path 1', 'Path 2'))

    def read(text: str) -> Outcome | None:
        read_letter(text, None, request)
        reply = read_choice(text, request.options)
        return refused(reply.unread or reply.cannot_tell)

    yield from _target('choices', _CHOICES, read)


# ----------------------------------------------------------------------------- samples of suites


@functools.cache
def _samples(name: str, place: Path) -> list[tuple[Any, Any]]:
    """Four samples of each kind that a suite has, with their truths."""
    from sightplan.runs.samples import load_samples
    from sightplan.runs.suite_finding import load_suite
    options: dict[str, Any] = {'data': str(place)}
    found = []
    for part in load_samples(load_suite(name), 'samples', options):
        step = max(1, len(part.items) // 4)
        found += [(sample, part.truth(sample.id)) for sample in part.items[::step][:4]]
    return found


def _of_suites(folder: Path) -> Iterator[Target]:
    from sightplan.runs.samples import score_reply, truth_reply
    from sightplan.runs.suite_finding import load_suite
    known = {'predicates': _YES_NO, 'patheval': _CHOICES, 'grounded_plan': _STEPS,
             'point_it_out': _REGIONS, 'ivispar': _BOARDS}
    for name, place in suites(folder).items():
        suite = load_suite(name)
        if 'samples' not in suite.kinds:
            continue
        samples = _samples(name, place)

        def read(text: str, suite: Any = suite, samples: Any = tuple(samples)) -> Outcome | None:
            reasons = []
            for sample, truth in samples:
                line = score_reply(suite, sample, truth, SampleReply(text))
                json.dumps(line, allow_nan=False)
                reasons.append(line['unread'])
            return _all_refused(reasons)

        truths = dict.fromkeys(truth_reply(suite, sample, truth).text
                               for sample, truth in samples[:3])
        yield from _target(f'replies to {name}', (*known.get(name, ('yes',)), *truths), read)
    from sightplan.runs.suite_parts import Unread
    from sightplan_suites.point_it_out.judging import read_better, read_rating

    def judged(text: str) -> None:
        try:
            read_rating(text)
        except Unread:
            read_better(text)

    yield from _target('ratings of a judge', _RATINGS, judged, (Unread,))


def _instructions(folder: Path) -> Iterator[Target]:
    """Instructions in words, and the answerers that read plans from replies."""
    from sightplan.agent.methods import decoupled, set_of_marks
    from sightplan.grounding.instructions.reader import read_instruction

    def read(text: str) -> None:
        read_instruction(text)

    yield from _target('instructions', _INSTRUCTIONS, read)
    place = suites(folder).get('grounded_plan')
    if place is None:
        return
    from sightplan.runs.samples import score_reply
    from sightplan.runs.suite_finding import load_suite
    suite = load_suite('grounded_plan')
    sample, truth = _samples('grounded_plan', place)[0]
    handed = dataclasses.replace(sample, task=cast(Any, _Task(sample)))
    for answerer in (set_of_marks.Answerer(set_of_marks.Settings('embedded')),
                     decoupled.Answerer(decoupled.Settings())):
        def answer(text: str, answerer: Any = answerer) -> Outcome | None:
            reply, = answerer.plans([handed], _Tools(text))
            line = score_reply(suite, sample, truth, reply)
            json.dumps(line, allow_nan=False)
            return refused(line['unread'])

        name = type(answerer).__module__.rpartition('.')[2]
        yield from _target(f'plans of {name}', _STEPS_IN_WORDS, answer)


class _Tools:
    """A context whose model replies one text to prompts, and sees one thing."""

    def __init__(self, text: str) -> None:
        self.text = text

    def asking(self, about: Any, backend: str = '', reason: Any = None) -> Any:
        return _OneReply(self.text)


class _Task:
    """The prompts and the reader of replies of the suite ``grounded_plan``, for one sample."""

    def __init__(self, sample: Any) -> None:
        self._sample = sample

    def prompt(self, name: str) -> Any:
        return Words()

    def read(self, reply: SampleReply) -> tuple[Any, str]:
        from sightplan.runs.samples import read_reply
        from sightplan.runs.suite_finding import load_suite
        return read_reply(load_suite('grounded_plan'), self._sample, reply)


class _OneReply(ModelByKind):
    """The model of ``_Tools``."""

    name, backend, timeout_s = 'one reply', 'scripted', None

    def __init__(self, text: str) -> None:
        self._text = text

    @answers(Generate)
    def write(self, query: Generate, deadline: Deadline) -> TextReply:
        return TextReply(self._text)

    @answers(DetectInstances)
    def detect(self, query: DetectInstances, deadline: Deadline) -> Any:
        from sightplan.model.instance import Instance, SeenThings
        return SeenThings((Instance('mug_1', _region(), {'mug': 0.9}, {'red': 0.8}),))

    @answers(Locate)
    def locate(self, query: Locate, deadline: Deadline) -> LocateReply:
        return LocateReply((_region(query.target.form),))


@functools.cache
def _region(form: Form = Form.BOX) -> Any:
    from sightplan.model import Region
    corners = (0.1, 0.2), (0.3, 0.4)
    return Region(form, corners if form is Form.BOX else corners[:1])


# ---------------------------------------------------------------------------------------- servers


def _body(text: str, **message: Any) -> bytes:
    """A server's reply as OpenAI sends it."""
    tokens = [{'token': text, 'logprob': -0.1, 'bytes': None, 'top_logprobs': [
        {'token': token, 'logprob': chance, 'bytes': None}
        for token, chance in (('Yes', -0.1), ('No', -2.5), ('unknown', -9.0))]}]
    return json.dumps({
        'id': 'x', 'object': 'chat.completion', 'model': 'fake', 'created': 1,
        'choices': [{'index': 0, 'finish_reason': 'stop', 'logprobs': {'content': tokens},
                     'message': {'role': 'assistant', 'content': text, **message}}],
        'usage': {'prompt_tokens': 100, 'completion_tokens': 2, 'total_tokens': 102,
                  'prompt_tokens_details': {'cached_tokens': 50}}}).encode()


_FAILURE = json.dumps({'error': {'message': 'max_tokens is not supported, use '
                                 'max_completion_tokens', 'type': 'invalid_request_error',
                                 'param': 'max_tokens', 'code': None}}).encode()


class _Server:
    """A server of OpenAI's protocol that answers every request with a given body and status."""

    def __init__(self) -> None:
        outer = self
        self.body, self.status = b'', 200

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get('Content-Length', 0)))
                self.send_response(outer.status)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(outer.body)))
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Log nothing."""

        self._server = HTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}/v1'
        threading.Thread(target=self._server.serve_forever, daemon=True,
                         kwargs={'poll_interval': 0.05}).start()


@functools.cache
def _server() -> _Server:
    return _Server()


def _servers() -> Iterator[Target]:
    if importlib.util.find_spec('openai') is None:  # the backend needs it
        return

    def read(text: str, status: int = 200) -> None:
        from sightplan.grounding.backend_grounder import BackendGrounder
        from sightplan.model import Atom, Observation, Question, Target
        from sightplan.vlm import make_backend
        server = _server()
        server.body, server.status = text.encode('utf-8', 'surrogateescape'), status
        backend: Any = make_backend('openai', {
            'model': 'fake', 'base_url': server.url, 'retries': 0, 'timeout_s': 20.0})
        try:
            image = np.zeros((8, 8, 3), np.uint8)
            BackendGrounder(backend).ground(
                Observation(image), [Question(Atom('on', ('a', 'b')), 'is a on b?')])
            ask_one(backend, Generate('', ('plan', image)))
            ask_one(backend, Locate(image, Target('mug', Form.POINT)))
        finally:
            backend.close()

    bodies = (_body('Yes'), _body('{"points": [[0.5, 0.5]]}'), _body('', refusal='no'),
              _body('<answer>No</answer>', reasoning_content='hm'))
    documented = (InputError, BackendError)
    yield Target('JSON of a server', 'replies', 'json', tuple(map(Seed, bodies)),
                 _surrogates(read), documented)
    yield Target('bytes of a server', 'replies', 'bytes', tuple(map(Seed, bodies)),
                 _surrogates(read), documented)
    yield Target('refusals of a server', 'replies', 'json', (Seed(_FAILURE),), functools.partial(
        _surrogates(read), status=400), documented)


def _surrogates(read: Callable[..., None]) -> Callable[..., None]:
    """Bytes as text; bytes that are not UTF-8 become surrogates."""
    def passed(text: str, **options: Any) -> None:
        read(text.encode('utf-8', 'surrogatepass').decode('utf-8', 'surrogateescape')
             if not any(0xDC80 <= ord(char) <= 0xDCFF for char in text) else text, **options)
    return passed
