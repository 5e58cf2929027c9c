"""Boards read in one free-text reply, in the place of yes/no questions."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from doubles import EventList, spec_of
from fake_openai import FakeServer, chat
from sightplan.agent import make_policy, prompt_name, run_episode
from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import cell_names
from sightplan.domains.sliding.planner import plan
from sightplan.domains.sliding.readings import Placed, read_scene
from sightplan.grounding import BackendGrounder
from sightplan.metrics import measures
from sightplan.model import Asked, Atom, InputError, Observation, Verdict
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.planning.own import OwnPlanner
from sightplan.queries import Generate, TextReply
from sightplan.runs import RunSettings, run
from sightplan.vlm.api import make_backend
from sightplan_suites.ivispar.inference import perfect_answer

sim = pytest.importorskip('sightplan_sim.sliding.world')

SLIDING = load_domain('sliding')
PROBLEM = next(problem for problem in SLIDING.split_problems('geoms')
               if len(problem.goal) == 4 and problem.optimal_length == 4)
READ = SLIDING.grounding_prompt('ground_read', problem=PROBLEM)
LOOK = Observation(np.zeros((2, 2, 3), np.uint8), 5)


def listed(state):
    """The reply that says what is true."""
    placed = []
    for atom in sorted(state):
        if atom.predicate == 'at':
            colour, _, shape = atom.args[0].rpartition('_')
            placed.append(Placed(atom.args[1], colour.replace('_', ' '), shape))
    return perfect_answer(placed)


class Writer(ModelByKind):
    """Replies in free text alone."""

    name = 'writer'

    def __init__(self, reply='', truncated=False):
        self.reply, self.requests = TextReply(reply, truncated), []

    @answers(Generate)
    def generate(self, request, deadline: Deadline):
        self.requests.append(request)
        self.deadline = deadline
        return self.reply


def questions(problem=PROBLEM):
    return tuple(map(SLIDING.question, SLIDING.worth_asking(problem)))


@pytest.mark.parametrize('split', SLIDING.splits)
def test_a_list_of_all_pieces_answers_every_question(split):
    rng = random.Random(split)
    for problem in rng.sample(SLIDING.split_problems(split), 10):
        atoms = SLIDING.worth_asking(problem)
        assert read_scene(listed(problem.init), atoms) == {
            atom: atom in problem.init for atom in atoms}


@pytest.mark.parametrize('reply', [
    '', 'a1 red cube', 'Solution: I see nothing but prose', 'Solution: red cube, blue sphere'])
def test_what_is_no_list_is_no_reading(reply):
    found = BackendGrounder(Writer(reply)).ground(LOOK, questions(), prompt=READ)
    assert {(answer.verdict, answer.text) for answer in found} == {(Verdict.UNPARSED, reply)}


def test_a_reply_that_was_cut_off_is_no_reading():
    found = BackendGrounder(Writer(listed(PROBLEM.init), truncated=True)).ground(
        LOOK, questions(), prompt=READ)
    assert {answer.verdict for answer in found} == {Verdict.UNPARSED}


def test_items_of_a_wrong_form_and_pieces_that_are_elsewhere_say_what_they_can():
    atoms = [Atom('at', ('light_blue_prism', 'f6')), Atom('at', ('light_blue_prism', 'a1')),
             Atom('at', ('tile_5', 'b2')), Atom('empty', ('c3',)), Atom('empty', ('d4',)),
             Atom('next', ('a1', 'a2', 'up'))]
    read = read_scene('Thoughts. **Solution**: F6 light blue diamond; b2 tile 5\nc3 red square, '
                      'd4 cube red', atoms)
    assert read == dict(zip(atoms, (True, False, True, False, True), strict=False))


def test_one_request_a_look_shows_the_picture_and_names_the_pieces():
    writer = Writer(listed(PROBLEM.init))
    grounder = BackendGrounder(writer)
    for asked in (questions(), questions()[:3], questions()[5:6]):
        answers = grounder.ground(LOOK, asked, 7.0, READ)
        assert [answer.verdict.says for answer in answers] == [
            question.atom in PROBLEM.init for question in asked]
    [request] = writer.requests
    assert (writer.deadline.timeout_s, request.max_tokens) == (7.0, READ.max_tokens)
    before, picture, _ = request.parts
    assert picture is LOOK.image
    for thing in PROBLEM.objects:
        if thing in cell_names(4):
            assert f' {thing.upper()}' in before
        else:
            assert thing.replace('_', ' ') in before
    assert 'direction' not in before, 'which stand on no cell'
    grounder.ground(Observation(LOOK.image, 6), questions(), prompt=READ)
    grounder.start_episode('another')
    grounder.ground(Observation(LOOK.image, 6), questions(), prompt=READ)
    assert len(writer.requests) == 3
    text = Observation(stamp_ns=7, text='a board in words')
    grounder.ground(text, questions(), prompt=READ)
    assert writer.requests[-1].parts[1] == 'a board in words'


def test_who_only_answers_questions_is_asked_them():
    world = sim.make_world(pictures='none')
    world.reset(spec_of(PROBLEM))
    backend = make_backend('noisy_reader', {'table': 'perfect'}, world)
    answers = BackendGrounder(backend).ground(world.observe(), questions(), prompt=READ)
    assert [answer.verdict.says for answer in answers] == [
        question.atom in PROBLEM.init for question in questions()]


def test_a_domain_without_such_a_prompt_says_so():
    with pytest.raises(InputError, match='ground_read.*unknown'):
        load_domain('blocksworld').grounding_prompt(prompt_name('ground', {'reading': True}))
    assert prompt_name('belief', {'reading': True}) == 'ground_read'


@pytest.mark.parametrize('method', ['ground', 'belief'])
def test_a_model_behind_openai_reads_boards(method):
    world = sim.make_world(pictures='none')
    with FakeServer(lambda body, number: chat(listed(world.state()))) as server:
        backend = make_backend('openai', {'base_url': server.url, 'model': 'one',
                                          'api_key_env': ''})
        events = EventList()
        spec = spec_of(PROBLEM, method=method, split='geoms', max_actions=20)
        ended = run_episode(
            spec, make_policy(method, {'reading': True}), world, BackendGrounder(backend),
            OwnPlanner(lambda: pytest.fail('the general planner was asked'), SLIDING), events,
            SLIDING)
    asked = events.of(Asked)
    assert PROBLEM.goal_met(world.state()) and ended.steps == PROBLEM.optimal_length
    looks = {(event.observation.image_id, event.observation.stamp_ns) for event in asked}
    assert len(server.bodies) == len(looks)
    assert {event.prompt for event in asked} == {SLIDING.prompt_id('ground_read')}
    assert all(part['type'] in ('text', 'image_url')
               for body in server.bodies for part in body['messages'][-1]['content'])


def test_a_script_of_readings_is_a_run(tmp_path):
    state, replies = PROBLEM.init, [listed(PROBLEM.init)]
    model = SLIDING.model(PROBLEM)
    for action in plan(PROBLEM, '').plan:
        state = model.apply(action, state)
        replies.append(listed(state))
    folder = tmp_path / 'problems'
    folder.mkdir()
    name, text = SLIDING.problem_file(PROBLEM)
    (folder / name).write_text(text)
    (tmp_path / 'replies.json').write_text(json.dumps(replies))
    run(RunSettings(domain='sliding', problems=str(folder), method='ground', goal='told',
                    backend='scripted', backend_options={'script': str(tmp_path / 'replies.json')},
                    method_options={'reading': True}, out=str(tmp_path / 'run'), record=True))
    [line] = map(json.loads, (tmp_path / 'run' / 'episodes.jsonl').read_text().splitlines())
    assert measures.solved(line) and line['steps'] == len(replies) - 1
    assert line['usage']['requests'] == len(replies)
    again = run(RunSettings(domain='sliding', problems=str(folder), method='ground', goal='told',
                            backend='replay', backend_options={'path': str(tmp_path / 'run')},
                            method_options={'reading': True}, out=str(tmp_path / 'again')))
    assert again['scored'] == 1
    lines = [json.loads(path.read_text().splitlines()[0]) for path in (
        tmp_path / 'run' / 'episodes.jsonl', tmp_path / 'again' / 'episodes.jsonl')]
    assert len({json.dumps([one['answer'], one['predicates']]) for one in lines}) == 1
