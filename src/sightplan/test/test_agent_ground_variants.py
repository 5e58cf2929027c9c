"""ground_cot, ground_mem, ground_mem_cot: they differ from ground in what the model is told."""

import pytest

from doubles import (
    EventList,
    MemoryWorld,
    ScriptedPlanner,
    SearchPlanner,
    TruthGrounder,
    pantry,
    pantry_view,
    spec_of,
)
from sightplan.agent import make_policy, policy_settings, prompt_name, run_episode
from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    PlanningResult,
    PlanningStatus,
    Privileged,
    Stepped,
    StopReason,
    Verdict,
)

PRE, EFF, ENUM = AskPurpose.PRECONDITION, AskPurpose.EFFECT, AskPurpose.ENUMERATION
YES, NO, UNPARSED = Verdict.YES, Verdict.NO, Verdict.UNPARSED
VARIANTS = ('ground_cot', 'ground_mem', 'ground_mem_cot')
CLEAR = 'Question: Is the red block the topmost of its column?\nYour answer: '


class Listener(TruthGrounder):
    """Answers from ground truth, and keeps the prompts."""

    def __init__(self, world, change=None):
        super().__init__(world, change)
        self.prompts = []

    def ground(self, observation, questions, timeout_s=None, prompt=None):
        self.prompts.append(prompt)
        return super().ground(observation, questions, timeout_s)


def episode(method, change=None, world=None, spec=None, policy=None, privileged=None):
    world = world or MemoryWorld()
    events, grounder = EventList(), Listener(world, change)
    ended = run_episode(spec or spec_of(method=method), policy or make_policy(method), world,
                        grounder, SearchPlanner(world.domain), events, world.domain,
                        privileged=privileged)
    purposes = [event.purpose for event in events.of(Asked)]
    return ended, events, list(zip(purposes, grounder.prompts, strict=True))


@pytest.mark.parametrize('method', VARIANTS)
def test_they_are_ground_with_other_prompts(method):
    ended, events, told = episode(method)
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 2)
    assert [purpose for purpose, _ in told] == [ENUM, PRE, EFF, PRE, EFF]
    digest = load_domain('blocksworld').prompt_hash(method)
    assert {event.prompt for event in events.of(Asked)} == {f'{method}@{digest}'}
    assert {prompt.reasoning for _, prompt in told} == {method.endswith('_cot')}
    assert {prompt.after_image for _, prompt in told} == {''}
    assert prompt_name(method) == method
    assert policy_settings(method, {'on_unparsed': 'stop'}).on_unparsed == 'stop'


def once(call, text, verdict):
    """Answer one question of one call so, and all others correctly."""
    return lambda atom, truth, number: verdict if (number, str(atom)) == (call, text) else None


@pytest.mark.parametrize('method', ['ground_mem', 'ground_mem_cot'])
def test_a_withheld_action_is_remembered_until_one_is_carried_out(method):
    ended, _, told = episode(method, once(1, 'clear r', NO))
    assert [purpose for purpose, _ in told] == [ENUM, PRE, ENUM, PRE, EFF, PRE, EFF]
    memories = [prompt.after_image for _, prompt in told]
    assert [bool(memory) for memory in memories] == [False, False, True, True, False, False, False]
    assert CLEAR + 'No' in memories[2] and memories[3] == memories[2]
    assert 'had planned to move the red block into the column labeled "c2"' in memories[2]
    assert ended.reason is StopReason.PLAN_DONE


def test_a_refused_action_is_remembered_with_the_answers_that_led_to_it():
    # Green is believed to be clear, from the first enumeration to the first check.
    def change(atom, truth, number):
        wrong = {'clear g': YES, 'clear r': NO, 'on r,g': NO, 'on g,r': YES, 'incolumn r,c1': NO,
                 'incolumn r,c2': YES}
        return wrong.get(str(atom)) if number < 2 else None
    _, events, told = episode('ground_mem', change)
    first = events.of(Stepped)[0]
    assert first.feedback.status.value == 'rejected' and first.action.args[0] == 'g'
    memory = told[2][1].after_image
    assert told[2][0] is ENUM and 'tried to move the green block' in memory
    assert 'Is the green block the topmost of its column?\nYour answer: Yes' in memory


def test_an_unreadable_answer_is_no_part_of_the_memory():
    def change(atom, truth, number):
        return {'clear r': UNPARSED, 'incolumn r,c2': YES}.get(str(atom)) if number == 1 else None
    _, _, told = episode('ground_mem', change)
    memory = told[2][1].after_image
    assert 'Your answer: Yes' in memory and 'topmost' not in memory


def test_without_an_answer_that_could_be_read_there_is_nothing_to_remember():
    # Green is believed to be clear, and tried, though nobody could say whether it is.
    wrong = {'clear g': YES, 'clear r': NO, 'on r,g': NO, 'on g,r': YES, 'incolumn r,c1': NO,
             'incolumn r,c2': YES}
    _, events, told = episode('ground_mem', lambda atom, truth, number: (
        wrong.get(str(atom)) if number == 0 else UNPARSED if number == 1 else None))
    assert events.of(Stepped)[0].feedback.status.value == 'rejected'
    assert told[2][0] is ENUM and told[2][1].after_image == ''


def of_the_apple(*tells):
    """An episode in which the first looks tell of an apple, which is never on the right."""
    domain = pantry()
    problem = domain.parse_problem("""
        (define (problem hidden) (:domain pantry)
          (:objects apple - item left right - cupboard)
          (:init (at apple left) (isopen right) (handempty))
          (:goal (at apple table)))""", 'hidden')

    class Liar:
        def provide(self, observation):
            facts = tells[world.observations - 1] if world.observations <= len(tells) else {}
            return {Atom('at', ('apple', place)): value for place, value in facts.items()}
    world = MemoryWorld(domain, pantry_view)
    spec = spec_of(problem, privileged=Privileged.INITIAL)
    _, events, told = episode('ground_mem', None, world, spec, privileged=Liar())
    first = events.of(Stepped)[0]
    assert first.action == Action('take-out', ('apple', 'right'))
    return first.feedback, told[2][1].after_image


def test_what_is_neither_seen_nor_told_is_said_to_be_a_possible_cause():
    feedback, memory = of_the_apple({'right': True})
    assert feedback.status.value == 'rejected' and 'cannot be seen in the picture' in memory


def test_what_was_told_just_then_is_no_possible_cause():
    feedback, memory = of_the_apple({'right': True}, {'right': True})
    assert feedback.status.value == 'rejected' and 'at least one of the answers' in memory


def test_answers_are_not_blamed_for_what_was_called_off_for_something_out_of_view():
    feedback, memory = of_the_apple({'right': True}, {'right': False})
    assert feedback.status.value == 'withheld' and 'at apple,right' in feedback.message
    assert memory == ''


def test_a_refused_action_that_nothing_was_asked_about_is_not_remembered_with_older_answers():
    home = load_domain('household')
    problem = home.parse_problem('''(define (problem p) (:domain household)
        (:objects bowl_1 - movable cabinet_1 - container sink_1 - object)
        (:init (inside bowl_1 cabinet_1)) (:goal (ontop bowl_1 sink_1)))''', 'p')
    world = MemoryWorld(home, lambda problem, state: {'cabinet_1', 'sink_1'})
    events, grounder = EventList(), Listener(world)
    run_episode(spec_of(problem, method='ground_mem', max_actions=2), make_policy('ground_mem'),
                world, grounder, ScriptedPlanner(PlanningResult(PlanningStatus.SOLVED, tuple(
                    Action('navigate-to', (name,)) for name in ('cabinet_1', 'bowl_1')))),
                events, home)
    assert [event.purpose for event in events.of(Asked)] == [ENUM, PRE, EFF, ENUM]
    assert events.of(Stepped)[1].feedback.status.value == 'rejected'
    assert grounder.prompts[-1].after_image == ''


def test_the_next_episode_remembers_nothing():
    policy = make_policy('ground_mem')
    spec = spec_of(max_actions=1)
    _, _, told = episode('ground_mem', once(1, 'clear r', NO), spec=spec, policy=policy)
    assert told[-1][1].after_image
    _, _, told = episode('ground_mem', spec=spec, policy=policy)
    assert not told[0][1].after_image


@pytest.mark.parametrize('method', ['ground', 'ground_cot'])
def test_the_others_remember_nothing_at_all(method):
    _, _, told = episode(method, once(1, 'clear r', NO))
    assert {prompt.after_image for _, prompt in told} == {''}
