"""The method ``ground``, step by step."""

import pytest

from doubles import (
    EventList,
    MemoryWorld,
    ScriptedPlanner,
    SearchPlanner,
    TruthGrounder,
    spec_of,
    two_blocks,
)
from sightplan.agent import make_policy, run_episode
from sightplan.model import (
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    Feedback,
    FeedbackStatus,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    Stepped,
    StopReason,
    Verdict,
)

YES, NO, UNPARSED = Verdict.YES, Verdict.NO, Verdict.UNPARSED
R_TO_2, G_TO_2 = (Action('moveblock', (block, 'c2')) for block in 'rg')
PRE, EFF, ENUM = AskPurpose.PRECONDITION, AskPurpose.EFFECT, AskPurpose.ENUMERATION


def atom(text):
    return Atom.parse(text)


def episode(change=None, planner=None, spec=None, world=None, **settings):
    world = world or MemoryWorld()
    events = EventList()
    ended = run_episode(spec or spec_of(), make_policy('ground', settings), world,
                        TruthGrounder(world, change), planner or SearchPlanner(), events,
                        world.domain)
    return ended, events, world


def solved(*plan):
    return PlanningResult(PlanningStatus.SOLVED, tuple(plan))


def story(events):
    """Purposes of questions and steps, in order."""
    lines = []
    for event in events.events:
        if isinstance(event, Asked):
            lines.append(event.purpose.value)
        elif isinstance(event, Planned):
            lines.append(f'plan {event.result.status.value} {len(event.result.plan)}')
        elif isinstance(event, Stepped):
            lines.append(f'{event.feedback.status.value} {event.action}')
    return lines


def test_without_errors_it_enumerates_once_and_follows_its_plan():
    ended, events, world = episode()
    assert story(events) == [
        'enumeration', 'plan solved 2',
        'precondition', f'executed {R_TO_2}', 'effect',
        'precondition', f'executed {G_TO_2}', 'effect']
    assert (ended.reason, ended.steps, ended.remaining) == (StopReason.PLAN_DONE, 2, 0)
    assert world.spec.problem.goal_met(world.state())


def test_the_enumeration_asks_every_ground_atom_once_the_reflexive_ones_too():
    _, events, world = episode()
    asked = events.of(Asked)[0]
    assert [q.atom for q in asked.questions] == list(world.model.atoms)
    assert {'on r,r', 'leftof c1,c1', 'rightof c3,c1'} <= {str(q.atom) for q in asked.questions}
    assert set(asked.expected) == {None}


def test_preconditions_are_asked_with_the_sign_they_need():
    _, events, _ = episode()
    asked = next(e for e in events.of(Asked) if e.purpose is PRE)
    assert {str(q.atom): x for q, x in zip(asked.questions, asked.expected, strict=True)} == {
        'clear r': True, 'incolumn r,c2': False}
    assert asked.action == R_TO_2


def test_effects_are_those_of_the_action_on_the_believed_state():
    _, events, _ = episode()
    asked = next(e for e in events.of(Asked) if e.purpose is EFF)
    assert {str(q.atom): x for q, x in zip(asked.questions, asked.expected, strict=True)} == {
        'clear r': True, 'incolumn r,c2': True, 'incolumn r,c1': False, 'on r,g': False,
        'clear g': True}


def test_conditional_effects_come_from_belief_not_from_truth():
    # It believes that red stands alone, so it does not ask whether green became clear.
    def change(a, truth, call):
        return NO if call == 0 and str(a) == 'on r,g' else None
    plan = ScriptedPlanner(solved(R_TO_2), solved())
    _, events, _ = episode(change, plan)
    asked = next(e for e in events.of(Asked) if e.purpose is EFF)
    assert 'clear g' not in {str(q.atom) for q in asked.questions}


def test_every_check_takes_a_fresh_look():
    _, events, _ = episode()
    stamps = [e.observation.stamp_ns for e in events.of(Asked)]
    assert len(set(stamps)) == len(stamps) == len(events.of(Observed)) == 5


def test_a_broken_precondition_withholds_enumerates_and_plans_again():
    def change(a, truth, call):
        return NO if call == 1 and str(a) == 'clear r' else None
    ended, events, world = episode(change)
    assert story(events)[:6] == ['enumeration', 'plan solved 2', 'precondition',
                                 f'withheld {R_TO_2}', 'enumeration', 'plan solved 2']
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 3)
    withheld = events.of(Stepped)[0]
    assert withheld.feedback.message == 'precondition not as expected: clear r is no'
    assert world.actions == [R_TO_2, G_TO_2]


def test_a_broken_effect_enumerates_and_plans_again():
    def change(a, truth, call):
        return YES if call == 2 and str(a) == 'on r,g' else None
    ended, events, _ = episode(change)
    assert story(events)[2:7] == ['precondition', f'executed {R_TO_2}', 'effect', 'enumeration',
                                  'plan solved 1']
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 2)


def test_a_no_op_is_noticed_and_tried_again():
    class NoOpOnce(MemoryWorld):
        def execute(self, action):
            if not self.resets % 2:
                return super().execute(action)
            self.resets += 1
            self.now_ns += 1_000
            self._states[self.now_ns] = self._states[self.now_ns - 1_000]
            return Feedback(FeedbackStatus.EXECUTED, '', self.now_ns)
    ended, events, world = episode(world=NoOpOnce())
    assert [s.action for s in events.of(Stepped)] == [R_TO_2, R_TO_2, G_TO_2]
    assert ended.reason is StopReason.PLAN_DONE
    assert world.spec.problem.goal_met(world.state())


def test_an_illegal_action_plans_again_without_asking_effects():
    illegal = Action('moveblock', ('g', 'c3'))

    def change(a, truth, call):
        return YES if call < 2 and str(a) == 'clear g' else None
    planner = ScriptedPlanner(solved(illegal), solved(R_TO_2, G_TO_2))
    ended, events, _ = episode(change, planner)
    assert story(events)[2:6] == ['precondition', f'rejected {illegal}', 'enumeration',
                                  'plan solved 2']
    assert ended.reason is StopReason.PLAN_DONE


def test_the_same_illegal_action_twice_in_a_row_ends_it():
    illegal = Action('moveblock', ('g', 'c3'))

    def change(a, truth, call):
        return YES if str(a) == 'clear g' else None
    ended, events, _ = episode(change, ScriptedPlanner(solved(illegal, R_TO_2)))
    assert (ended.reason, ended.steps) == (StopReason.REPEATED_ILLEGAL, 2)
    assert ended.remaining == 1  # the second one is among the steps
    assert [s.feedback.status for s in events.of(Stepped)] == [FeedbackStatus.REJECTED] * 2


def test_two_different_illegal_actions_do_not_end_it():
    one, two = (Action('moveblock', ('g', c)) for c in ('c2', 'c3'))

    def change(a, truth, call):
        return YES if str(a) == 'clear g' else None
    planner = ScriptedPlanner(solved(one), solved(two), solved(one), solved())
    ended, events, _ = episode(change, planner)
    assert [s.action for s in events.of(Stepped)] == [one, two, one]
    assert ended.reason is StopReason.PLAN_DONE


def test_a_legal_action_between_two_illegal_ones_breaks_the_row():
    illegal = Action('moveblock', ('g', 'c3'))
    legal = Action('moveblock', ('r', 'c3'))
    back = Action('moveblock', ('r', 'c1'))

    def change(a, truth, call):
        return YES if str(a) == 'clear g' else None
    planner = ScriptedPlanner(solved(illegal), solved(legal, back), solved(illegal), solved())
    ended, events, _ = episode(change, planner)
    assert [s.action for s in events.of(Stepped)] == [illegal, legal, back, illegal]
    assert ended.reason is StopReason.PLAN_DONE


@pytest.mark.parametrize(('status', 'reason'), [
    (PlanningStatus.UNSOLVABLE, StopReason.NO_PLAN),
    (PlanningStatus.TIMEOUT, StopReason.PLANNER_TIMEOUT),
    (PlanningStatus.CRASHED, StopReason.ERROR)])
def test_without_a_plan_it_stops_and_says_why(status, reason):
    ended, _, world = episode(planner=ScriptedPlanner(PlanningResult(status, message='m')))
    assert (ended.reason, ended.steps) == (reason, 0)
    assert world.actions == []


def test_a_goal_believed_to_hold_ends_it_whatever_the_truth():
    ended, _, world = episode(planner=ScriptedPlanner(solved()))
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 0)
    assert not world.spec.problem.goal_met(world.state())


def test_the_budget_counts_withheld_actions():
    def change(a, truth, call):
        return NO if call % 2 and str(a) == 'clear r' else None
    ended, events, _ = episode(change, spec=spec_of(max_actions=5))
    assert (ended.reason, ended.steps, ended.remaining) == (StopReason.BUDGET, 5, 2)
    assert {s.feedback.status for s in events.of(Stepped)} == {FeedbackStatus.WITHHELD}


def test_the_planner_gets_the_believed_state_and_nothing_else():
    def change(a, truth, call):
        return YES if str(a) == 'on g,r' else None
    planner = ScriptedPlanner(solved())
    _, _, world = episode(change, planner)
    [task] = planner.tasks
    problem = world.domain.parse_problem(task.problem_pddl, 'task')
    assert problem.init == two_blocks().init | {atom('on g,r')}
    assert task.domain_pddl == world.domain.pddl


def test_unreadable_answers_are_false_at_first_and_keep_the_belief_later():
    def change(a, truth, call):
        return UNPARSED if str(a) in ('clear r', 'leftof c1,c2') and call == 0 else None
    planner = ScriptedPlanner(solved(R_TO_2, G_TO_2))
    ended, events, world = episode(change, planner)
    init = world.domain.parse_problem(planner.tasks[0].problem_pddl, 't').init
    assert atom('clear r') not in init
    assert ended.reason is StopReason.PLAN_DONE

    def later(a, truth, call):
        return UNPARSED if call == 1 else None
    ended, events, _ = episode(later)
    before, after = (e.belief.state for e in events.of(BeliefUpdated)[:2])
    assert before == after and atom('clear r') in after
    assert ended.reason is StopReason.PLAN_DONE and ended.steps == 2
    assert len([e for e in events.of(Asked) if e.purpose is ENUM]) == 1


def test_an_unreadable_effect_is_believed_as_the_action_promises():
    def change(a, truth, call):
        return UNPARSED if call == 2 else None
    ended, events, _ = episode(change)
    believed = events.of(BeliefUpdated)[2].belief.state
    assert atom('incolumn r,c2') in believed and atom('on r,g') not in believed
    assert story(events)[-3:] == ['precondition', f'executed {G_TO_2}', 'effect']
    assert ended.steps == 2


@pytest.mark.parametrize('call', [0, 1, 2])
def test_unreadable_answers_end_it_if_so_set(call):
    def change(a, truth, number):
        return UNPARSED if number == call else None
    ended, _, _ = episode(change, on_unparsed='stop')
    assert ended.reason is StopReason.UNPARSED and ended.reason.scored
    assert ended.steps == (1 if call == 2 else 0)


def test_probabilities_are_published_where_given_and_never_invented():
    world = MemoryWorld()

    class Unsure(TruthGrounder):
        def ground(self, observation, questions, timeout_s=None, prompt=None):
            answers = super().ground(observation, questions, timeout_s)
            return [Answer(a.text, .6, .2) if q.atom.predicate == 'on' else a
                    for q, a in zip(questions, answers, strict=True)]
    events = EventList()
    run_episode(spec_of(), make_policy('ground'), world, Unsure(world), SearchPlanner(), events,
                world.domain)
    first = events.of(BeliefUpdated)[0].belief
    assert {str(a): p for a, p in first.probabilities.items()} == pytest.approx({
        f'on {x},{y}': .75 for x in 'rg' for y in 'rg'})


def test_what_an_action_changed_has_no_probability_before_an_answer_that_can_be_read():
    world = MemoryWorld()

    class Unsure(TruthGrounder):
        def ground(self, observation, questions, timeout_s=None, prompt=None):
            return [a if a.verdict.says is None else Answer(a.text, .6, .2)
                    for a in super().ground(observation, questions, timeout_s)]
    events = EventList()
    run_episode(spec_of(), make_policy('ground'), world,
                Unsure(world, lambda a, truth, call: UNPARSED if call == 2 else None),
                SearchPlanner(), events, world.domain)
    assert events.of(Asked)[2].purpose is EFF
    before, after = (event.belief.probabilities for event in events.of(BeliefUpdated)[1:3])
    changed = world.domain.model(two_blocks()).effects(R_TO_2, two_blocks().init)
    assert set(after) == set(before) - set(changed) != set(before)


def test_one_policy_serves_many_episodes_from_scratch():
    world, policy = MemoryWorld(), make_policy('ground')
    stories = []
    for number in range(3):
        events = EventList()
        run_episode(spec_of(id=f'e{number}'), policy, world, TruthGrounder(world),
                    SearchPlanner(), events, world.domain)
        stories.append(story(events))
    assert stories[0] == stories[1] == stories[2]
