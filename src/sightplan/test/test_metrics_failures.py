"""Why episodes fail: a scenario for every rule in a real episode loop, and lines at random."""

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import (
    Answering,
    GuessingGrounder,
    MemoryWorld,
    ScriptedPlanner,
    SearchPlanner,
    TruthGrounder,
    spec_of,
    two_blocks,
)
from sightplan.agent import make_policy, run_episode
from sightplan.domains import InstantiatedModel
from sightplan.metrics import (
    RULES,
    Cause,
    EpisodeScorer,
    cause_of,
    failure_counts,
    failure_of,
    measures,
    summarise_episodes,
    without_truth,
)
from sightplan.metrics.failures import called_off
from sightplan.metrics.judgements import WRONG_ANSWER, Judgements
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    BackendError,
    Belief,
    FeedbackStatus,
    Observation,
    PlanningResult,
    PlanningStatus,
    Proposal,
    ProposalStatus,
    StopReason,
    Usage,
    Verdict,
    WorldError,
)
from sightplan.model.judged_answer import JudgedAnswer
from sightplan.queries import answered

YES, NO, UNPARSED = Verdict.YES, Verdict.NO, Verdict.UNPARSED
R2, R3, R1 = (Action('moveblock', ('r', c)) for c in ('c2', 'c3', 'c1'))
G2, G3 = (Action('moveblock', ('g', c)) for c in ('c2', 'c3'))
LEFT = ('leftof c1,c2', 'leftof c2,c3', 'leftof c1,c3', 'rightof c2,c1', 'rightof c3,c2',
        'rightof c3,c1')
START = ('on r,g', 'incolumn r,c1', 'incolumn g,c1', 'clear r', *LEFT)
MOVED = ('incolumn r,c2', 'incolumn g,c1', 'clear r', 'clear g', *LEFT)
GOAL = ('incolumn r,c2', 'incolumn g,c2', 'on g,r', 'clear g', *LEFT)


def says(verdict, *atoms, since=0, calls=None):
    """Answers with ``verdict`` about these atoms from a call on (or in some calls), else truly."""
    return lambda atom, truth, call: Verdict(verdict) if str(atom) in atoms and (
        call in calls if calls is not None else call >= since) else None


def imagines(*states):
    """The n-th call is answered from the n-th of these states, later ones from the last."""
    return lambda atom, truth, call: YES if str(atom) in states[min(call, len(states) - 1)] else NO


def both(*changes):
    def change(atom, truth, call):
        return next((v for v in (c(atom, truth, call) for c in changes) if v is not None), None)
    return change


class Cut(Answering):
    """A model whose answers with reasons all run into their limit of tokens."""

    model = 'long-winded'

    def ground(self, observation, questions, timeout_s=None, prompt=None):
        return [Answer('<explanation>First, the', cut_at=64) for _ in questions]


def solved(*actions):
    return PlanningResult(PlanningStatus.SOLVED, actions)


NOTHING = PlanningResult(PlanningStatus.UNSOLVABLE, message='searched all')


class Proposer:
    """A VisualPlanner that gives prepared replies, over and over."""

    model = 'scripted planner'

    def __init__(self, *replies):
        self.replies, self.calls = replies, 0

    @property
    def usage(self):
        return Usage(self.calls, 100 * self.calls, 10 * self.calls)

    def propose(self, observation, task, timeout_s=None):
        reply = self.replies[self.calls % len(self.replies)]
        self.calls += 1
        if isinstance(reply, Proposal):
            return reply
        return Proposal(ProposalStatus.PLANNED, (reply,), str(reply), model=self.model,
                        prompt_sha256='abc')


UNREADABLE = Proposal(ProposalStatus.UNPARSED, message='no JSON', text='blah ' * 400)
CUT_OFF = dataclasses.replace(UNREADABLE, cut_at=1024)
UNKNOWN = Proposal(ProposalStatus.UNKNOWN_ACTION, named='fly(r)', message='no such action')
DONE = Proposal(ProposalStatus.EMPTY, message='the plan is empty')


def episode(method='ground', change=None, *, planner=None, proposer=None, world=None, options=None,
            grounder=None, **spec):
    """Run an episode on two blocks and return its line."""
    world = world or MemoryWorld()
    scorer = EpisodeScorer(world)
    run_episode(spec_of(method=method, **spec), make_policy(method, options), world,
                grounder or TruthGrounder(world, change), planner or SearchPlanner(), scorer,
                world.domain, visual_planner=proposer,
                goal_reached=lambda: two_blocks().goal_met(world.state()))
    line = scorer.result()
    assert json.loads(json.dumps(line, allow_nan=False)) == line
    return line


def failed(line, cause, step, *atoms, stop=None):
    """Check the failure; its first answers must be about these atoms. Returns the evidence."""
    failure = line['failure']
    assert failure is not None, line['stop']
    evidence = failure['evidence']
    assert (failure['cause'], failure['step']) == (cause, step), evidence['text']
    assert tuple(a['atom'] for a in evidence['answers'])[:len(atoms)] == atoms
    assert evidence['answer_count'] >= len(evidence['answers'])
    if stop:
        assert line['stop'] == stop
    assert failure_of(line).to_json()['cause'] == cause_of(line) == cause
    return evidence


# The grounder's mistakes

def test_a_true_precondition_judged_false_leads_to_a_dead_end():
    # The paper's figure 9.
    line = episode(change=says(NO, 'clear g', since=3))
    evidence = failed(line, 'precondition_judged_false', 1, 'clear g', stop='no_plan')
    answer = evidence['answers'][0]
    assert (answer['purpose'], answer['answer'], answer['truth']) == ('precondition', 'no', True)
    assert answer['question'] == 'Is the green block the topmost of its column?'
    assert evidence['action'] == 'moveblock(g, c2)'
    assert line['failure']['image_id'] == line['actions'][1]['image_id'] != ''
    assert line['failure']['image_id'] != line['actions'][0]['image_id']
    assert evidence['stamp_ns'] == line['actions'][1]['stamp_ns'] > 0


def test_without_a_plan_the_precondition_counts_only_if_it_is_misread_again():
    line = episode(change=both(says(NO, 'clear g', calls=[3]), says(YES, 'on r,g', calls=[4])),
                   planner=ScriptedPlanner(solved(R2, G2), NOTHING))
    failed(line, 'planner_found_nothing', 2, 'on r,g', stop='no_plan')


def test_a_withheld_legal_action_can_cost_the_budget():
    line = episode(change=says(NO, 'clear g', calls=[3]), max_actions=2)
    failed(line, 'precondition_judged_false', 1, 'clear g', stop='budget')


def test_a_plan_that_did_not_fit_is_no_loss():
    line = episode(change=says(NO, 'clear g', calls=[3]), max_actions=2,
                   planner=ScriptedPlanner(solved(R2, G2, R1), solved(G2, R1, R2, R3)))
    evidence = failed(line, 'budget', 1, stop='budget')
    assert 'the last plan needed 4 actions, and 0 were left' in evidence['text']


def test_a_false_precondition_judged_true_leads_to_an_illegal_action_twice():
    # The paper's figure 10.
    line = episode(change=says(YES, 'clear g'), planner=ScriptedPlanner(solved(G2)))
    evidence = failed(line, 'precondition_judged_true', 1, 'clear g', stop='repeated_illegal')
    assert evidence['answers'][0]['truth'] is False
    assert 'illegal' in evidence['text']


def test_alternating_illegal_actions_have_the_deeper_cause():
    line = episode(change=says(YES, 'clear g'), max_actions=4, planner=ScriptedPlanner(
        solved(G2), solved(G3), solved(G2), solved(G3)))
    failed(line, 'precondition_judged_true', 3, 'clear g', stop='budget')


def test_an_illegal_action_of_which_nothing_was_misjudged_is_a_pattern():
    class Refuses(MemoryWorld):
        def execute(self, action):
            self.now_ns += 1_000
            self._states[self.now_ns] = self._states[self.now_ns - 1_000]
            self.outcome = 'illegal'
            return super().execute(G2)
    line = episode(world=Refuses())
    failed(line, 'repeated_illegal', 1, stop='repeated_illegal')


def test_effects_that_came_but_were_not_seen():
    line = episode(change=says(NO, 'clear g', since=2))
    evidence = failed(line, 'effect_misread', 0, 'clear g', stop='no_plan')
    assert evidence['answers'][0]['purpose'] == 'effect'
    assert line['failure']['image_id'] != line['actions'][0]['image_id'], 'the look afterwards'


def test_effects_that_were_seen_but_did_not_come_and_the_goal_needs_them():
    line = episode(change=imagines(START, START, MOVED, MOVED, GOAL),
                   world=FailingWorld(second=True))
    evidence = failed(line, 'effect_misread', 1, stop='plan_done')
    assert evidence['answers'][0]['atom'] in ('on g,r', 'incolumn g,c2')
    assert 'The goal needs' in evidence['text']


class FailingWorld(MemoryWorld):
    """Does nothing at the first, or the second action."""

    def __init__(self, second=False):
        super().__init__()
        self.fails = 1 if second else 0

    def execute(self, action):
        self.spec = spec_of(self.spec.problem, failure_probability=float(
            len(self.actions) == self.fails))
        return super().execute(action)


def test_a_missed_effect_that_makes_the_next_action_impossible():
    line = episode(change=imagines(START, START, MOVED, START), world=FailingWorld(),
                   max_actions=2)
    evidence = failed(line, 'effect_misread', 1, 'clear g', stop='budget')
    assert evidence['answers'][0]['purpose'] == 'effect'
    assert 'withheld for a good reason' in evidence['text']


def test_a_goal_that_is_believed_to_hold():
    line = episode(change=imagines(GOAL))
    evidence = failed(line, 'goal_misjudged', 0, stop='plan_done')
    assert {a['atom'] for a in evidence['answers']} == {
        'on g,r', 'incolumn r,c2', 'incolumn g,c2', 'clear g'}
    assert line['goal_unmet'][0]['last']['purpose'] == 'enumeration'


def test_a_planner_that_finds_nothing_in_a_wrong_state():
    line = episode(change=lambda atom, truth, call: NO)
    evidence = failed(line, 'planner_found_nothing', 0, stop='no_plan')
    assert evidence['answer_count'] == 10 > len(evidence['answers']) == 8
    assert line['failure']['image_id'] == line['last_observation']['image_id']


def test_a_planner_that_finds_nothing_though_all_was_right():
    line = episode(planner=ScriptedPlanner(NOTHING))
    assert 'searched all' in failed(line, 'planner_found_nothing', 0, stop='no_plan')['text']
    slow = PlanningResult(PlanningStatus.TIMEOUT, message='60 s')
    text = failed(episode(planner=ScriptedPlanner(slow)), 'planner_found_nothing', 0,
                  stop='planner_timeout')['text']
    assert 'out of time' in text


def test_a_state_that_was_misjudged_costs_the_budget():
    line = episode(change=both(says(YES, 'clear g', calls=[0])), max_actions=1,
                   planner=ScriptedPlanner(solved(G2)))
    evidence = failed(line, 'state_misjudged', 0, 'clear g', stop='budget')
    assert evidence['answers'][0]['purpose'] == 'enumeration'


def test_a_belief_that_no_answer_was_wrong_about_misjudged_the_state():
    """A joint belief may take for true what was never answered wrongly."""
    world = MemoryWorld()
    judgements, model = Judgements(two_blocks()), InstantiatedModel(two_blocks())
    seen = Observation(np.zeros((1, 1, 3), np.uint8))
    truth = frozenset(map(Atom.parse, START))
    judgements.believe(Belief(truth | {Atom.parse('clear g')}))
    question = world.domain.question(Atom.parse('clear g'))
    asked = answered(seen, (question,), (Answer(verdict=NO),), (True,),
                  AskPurpose.PRECONDITION, G2)
    judgements.take(JudgedAnswer(asked, 0, 0, False))
    judgements.believe(Belief(truth))  # the answer corrects it, after the plan was made
    judgements.take(JudgedAnswer(dataclasses.replace(asked, queries=answered(
        seen, (world.domain.question(Atom.parse('incolumn g,c2')),), (Answer(verdict=NO),),
        (False,), AskPurpose.PRECONDITION, G2).queries), 0, 0, False))
    entry = {'misled': [], 'image_id': seen.image_id, 'stamp_ns': 0}
    judgements.step(0, G2, FeedbackStatus.WITHHELD, truth, entry)
    assert not model.applicable(G2, truth) and entry['applicable'] is False
    assert [(one['purpose'], one['atom'], one['answer'], one['truth'])
            for one in entry['misled']] == [('belief', 'clear g', 'yes', False)]
    line = episode(planner=ScriptedPlanner(solved(G2)), max_actions=1,
                   change=says(YES, 'clear g', calls=[0]))
    line['actions'][0]['misled'], line['wrong'] = entry['misled'], []
    assert failure_of(line).cause is Cause.STATE_MISJUDGED


def test_effects_that_a_misjudged_state_made_impossible():
    # Green is taken to stand in column 2, so that red is expected on top of it.
    # That of the columns matters to no action: it is no cause.
    line = episode(change=says(YES, 'clear g', 'incolumn g,c2', 'leftof c2,c1', calls=[0]),
                   max_actions=1, planner=ScriptedPlanner(solved(R2)))
    assert line['actions'][0]['effects'] == 'true_positive'
    evidence = failed(line, 'state_misjudged', 0, stop='budget')
    assert {a['atom'] for a in evidence['answers']} == {'clear g', 'incolumn g,c2'}


def test_effects_that_a_missed_one_made_impossible():
    # Green stays where it is, is believed in column 3, and red is to be put on top of it.
    elsewhere = ('incolumn r,c2', 'incolumn g,c3', 'clear r', 'clear g', *LEFT)
    line = episode(change=both(says(YES, 'leftof c2,c1', calls=[0]),
                               lambda atom, truth, call: YES if call == 4
                               and str(atom) in elsewhere else NO if call == 4 else None),
                   world=FailingWorld(second=True), max_actions=3,
                   planner=ScriptedPlanner(solved(R2, G3, R3), solved(G3, R3)))
    assert [action['effects'] for action in line['actions']] == [
        'true_negative', 'false_negative', 'true_positive']
    evidence = failed(line, 'effect_misread', 2, 'incolumn g,c3', stop='budget')
    assert 'because moveblock(g, c3) had other effects' in evidence['text']
    unknown = {**line, 'actions': [{**action, 'misled': []} for action in line['actions']]}
    assert failure_of(unknown).cause is Cause.BUDGET, 'nobody knows what mattered'


def test_a_world_that_fails_in_execution_costs_the_budget():
    line = episode(failure_probability=1., max_actions=3)
    text = failed(line, 'budget', 2, stop='budget')['text']
    assert '3 executed, 3 failed in execution' in text


@pytest.mark.parametrize(('options', 'stop'), [
    ({'on_unparsed': 'continue'}, 'no_plan'), ({'on_unparsed': 'stop'}, 'unparsed')])
def test_answers_that_nobody_can_read(options, stop):
    line = episode(change=lambda *_: UNPARSED, options=options)
    failed(line, 'unparsable', 0, stop=stop)


def test_an_unreadable_precondition_of_an_illegal_action():
    line = episode(change=says(UNPARSED, 'clear g'), planner=ScriptedPlanner(solved(G2)))
    failed(line, 'unparsable', 1, 'clear g', stop='repeated_illegal')


def test_one_unreadable_answer_among_wrong_ones_is_not_the_cause():
    change = both(says(UNPARSED, 'on r,g'), lambda *_: NO)
    evidence = failed(episode(change=change), 'planner_found_nothing', 0)
    assert all(a['answer'] == 'no' for a in evidence['answers'])


# A model that plans

@pytest.mark.parametrize('method', ['plan', 'plan_cot', 'action', 'action_cot'])
@pytest.mark.parametrize(('replies', 'cause', 'step', 'text'), [
    ((R2, R3), 'oscillation', 5, 'The last 6 steps alternate between moveblock(r, c2)'),
    ((G2, G3), 'oscillation', 5, 'alternate'),  # both illegal: the paper's figure 6
    ((R2, R3, R1), 'budget', 5, '6 executed'),
    ((G2,), 'repeated_illegal', 5, 'tried 6 times in a row'),  # the paper's figure 7
    ((UNKNOWN,), 'repeated_illegal', 5, 'fly(r) was tried 6 times'),
    ((CUT_OFF,), 'cut_off', 5,  # the paper's figure 8
     'lost to replies that were cut off at the limit of 1024 tokens'),
    ((R2, UNREADABLE, CUT_OFF), 'unparsable', 5, '4 of 6'),
    ((R2, CUT_OFF, CUT_OFF), 'cut_off', 5, '4 of 6'),
    ((UNREADABLE,), 'unparsable', 5, '6 of 6 steps were lost'),
    ((R2, UNREADABLE, UNREADABLE), 'unparsable', 5, '4 of 6'),
    ((UNREADABLE, R2, R3), 'budget', 5, '4 executed, 2 invalid')])
def test_patterns_of_a_model_that_plans(method, replies, cause, step, text):
    line = episode(method, proposer=Proposer(*replies), max_actions=6)
    assert text in failed(line, cause, step, stop='budget')['text']
    assert line['failure']['image_id'] == line['actions'][-1]['image_id']


def test_three_alternating_steps_are_no_oscillation_and_four_are():
    assert cause_of(episode('plan', proposer=Proposer(R2, R3), max_actions=3)) == 'budget'
    assert cause_of(episode('plan', proposer=Proposer(R2, R3), max_actions=4)) == 'oscillation'


def test_one_illegal_action_is_no_repetition_and_two_are():
    # The first time the move is legal.
    assert cause_of(episode('plan', proposer=Proposer(R2), max_actions=2)) == 'budget'
    assert cause_of(episode('plan', proposer=Proposer(R2), max_actions=3)) == 'repeated_illegal'


def test_only_the_end_counts():
    line = episode('plan', proposer=Proposer(G2, G2, G2, R2, R3), max_actions=5)
    assert cause_of(line) == 'budget'


def test_a_model_that_says_it_is_done():
    line = episode('plan', proposer=Proposer(R2, DONE))
    evidence = failed(line, 'goal_misjudged', 1, stop='empty_plan')
    assert 'on g,r' in evidence['text']
    # Where the episode ends at the goal by itself, the model was not told to say so.
    line = episode('plan', proposer=Proposer(R2, DONE), stop_at_goal=True)
    failed(line, 'planner_found_nothing', 1, stop='empty_plan')


def test_a_model_that_plans_and_stops_at_an_unreadable_reply():
    line = episode('plan', proposer=Proposer(R2, UNREADABLE), options={'on_unparsed': 'stop'})
    assert 'no JSON' in failed(line, 'unparsable', 1, stop='unparsed')['text']
    assert line['failure']['image_id'] == line['last_observation']['image_id'] != ''


@pytest.mark.parametrize(('last', 'cause', 'text'), [
    (CUT_OFF, 'cut_off', 'cut off at the limit of 1024 tokens'),
    (UNREADABLE, 'unparsable', 'no JSON')])
def test_the_reply_at_which_the_episode_ended_decides(last, cause, text):
    line = episode('plan', proposer=Proposer(CUT_OFF, R2, last), options={'on_unparsed': 'stop'})
    assert failed(line, 'cut_off', 0, stop='unparsed')
    line = episode('plan', proposer=Proposer(R2, last), options={'on_unparsed': 'stop'})
    assert text in failed(line, cause, 1, stop='unparsed')['text']


def test_a_reply_that_was_cut_off_and_read_all_the_same_is_counted_and_is_no_cause():
    read = Proposal(ProposalStatus.PLANNED, (R2,), str(R2), cut_at=256)
    line = episode('plan', proposer=Proposer(read, CUT_OFF), max_actions=4)
    assert cause_of(line) == 'budget'
    assert line['cut_off'] == [
        ['proposal', '', 'planned', 0, 256], ['proposal', '', 'unparsed', 1, 1024],
        ['proposal', '', 'planned', 2, 256], ['proposal', '', 'unparsed', 3, 1024]]
    assert summarise_episodes([line])['cut_off'] == {
        'replies': 4, 'cut': 4, 'unreadable': 2, 'limits': [256, 1024]}


@pytest.mark.parametrize(('options', 'stop'), [
    ({'on_unparsed': 'continue'}, 'no_plan'), ({'on_unparsed': 'stop'}, 'unparsed')])
def test_answers_that_were_cut_off(options, stop):
    line = episode(grounder=Cut(), options=options)
    evidence = failed(line, 'cut_off', 0, stop=stop)
    assert 'the limit of 64 tokens' in evidence['text']
    assert line['cut_off'][0][2:] == ['unparsed', 0, 64]
    counted = summarise_episodes([line])['cut_off']
    assert counted['cut'] == counted['unreadable'] == counted['replies'] > 0
    # One of them that has another reason changes nothing; half of them do.
    decided = [dict(zip(WRONG_ANSWER, entry, strict=True)) for entry in line['wrong']]
    atoms = [one['atom'] for one in decided if stop == 'unparsed' or one['truth']]
    for part, cause in ((1, Cause.CUT_OFF), ((len(atoms) + 1) // 2, Cause.UNPARSABLE)):
        fewer = {**line, 'cut_off': [e for e in line['cut_off'] if e[1] not in atoms[:part]]}
        assert failure_of(fewer).cause is cause, part
    assert failure_of({key: value for key, value in line.items() if key != 'cut_off'}).cause is (
        Cause.UNPARSABLE), 'lines of earlier versions do not say'


def test_what_the_line_tells_of_proposals():
    repaired = Proposal(ProposalStatus.PLANNED, (R3,), str(R3), repaired=True)
    line = episode('action_cot', proposer=Proposer(R2, UNKNOWN, UNREADABLE, repaired),
                   max_actions=8)
    assert line['proposals'] == {'planned': 4, 'unknown_action': 2, 'unparsed': 2}
    assert (line['repaired'], line['invalid'], line['executed']) == (2, 4, 4)
    assert [a['action'] for a in line['actions'][:3]] == ['moveblock(r, c2)', 'fly(r)', '']
    assert [a.get('proposal') for a in line['actions'][:3]] == [None, 'unknown_action', 'unparsed']
    assert len(line['unreadable']) == 2
    assert line['unreadable'][0].endswith('... (2000 characters)') and len(
        line['unreadable'][0]) < 650
    assert sum(line['prompts'].values()) == 8
    assert {name.split('@')[0] for name in line['prompts']} == {'action_cot'}
    assert line['usage'] == {'requests': 8, 'prompt_tokens': 800, 'completion_tokens': 80,
                             'cost_usd': None}
    assert line['model'] == 'scripted planner'
    summary = summarise_episodes([line, line])
    assert summary['usage']['requests'] == 16
    assert summary['proposals'] == {'planned': 8, 'unknown_action': 4, 'unparsed': 4}
    assert summary['repaired'] == 4 and summary['actions']['invalid'] == 8
    assert summary['executable'] == pytest.approx(.5)
    assert sum(summary['prompts'].values()) == 16


def test_costs_are_summed_where_they_are_known():
    lines = [episode('idle') for _ in range(3)]
    assert summarise_episodes(lines)['usage'] is None
    lines[1]['usage'] = {'requests': 2, 'prompt_tokens': 3, 'completion_tokens': 4, 'cost_usd': .5}
    lines[2]['usage'] = {'requests': 1, 'prompt_tokens': 1, 'completion_tokens': 1,
                         'cost_usd': None}
    assert summarise_episodes(lines)['usage'] == {'requests': 3, 'prompt_tokens': 4,
                                                  'completion_tokens': 5, 'cost_usd': .5}


# The machine, and no failure at all

def test_what_breaks_down_is_infrastructure():
    class Breaks(MemoryWorld):
        def observe(self):
            if self.observations == 2:
                raise WorldError('the camera is gone')
            return super().observe()
    line = episode(world=Breaks())
    assert 'the camera is gone' in failed(line, 'infrastructure', 1, stop='error')['text']
    assert not measures.scored(line)

    class Down(Answering):
        model = 'down'

        def ground(self, *_, **__):
            raise BackendError('no answer after 5 tries')
    line = episode(grounder=Down())
    assert '5 tries' in failed(line, 'infrastructure', 0)['text']
    assert line['failure']['image_id'], 'the picture that was asked about'


def test_a_method_that_gives_up():
    failed(episode('idle'), 'stopped_early', 0, stop='gave_up')


def test_a_solved_episode_has_no_cause():
    for line in (episode(), episode('plan', proposer=Proposer(R2, G2), stop_at_goal=True)):
        assert measures.solved(line) and line['failure'] is None
        assert failure_of(line) is cause_of(line) is None
        assert line['goal_unmet'] == []


def test_a_cancelled_episode_has_no_cause():
    assert failure_of({'stop': 'cancelled', 'measures': {'solved': None}}) is None
    assert failure_of({'stop': 'dry_run', 'measures': {'solved': None}}) is None


def test_a_recorded_cause_stands():
    line = episode('idle')
    assert cause_of({**line, 'failure': {**line['failure'], 'cause': 'a later one'}}) == (
        'a later one')
    assert failure_counts([{**line, 'failure': {'cause': 'a later one'}}, line])['causes'] == {
        'stopped_early': 1, 'a later one': 1}


def test_the_summary_counts_causes():
    lines = [episode(), episode('idle'), episode('idle'), episode(change=imagines(GOAL))]
    assert summarise_episodes(lines)['failures'] == {
        'episodes': 3, 'causes': {'goal_misjudged': 1, 'stopped_early': 2},
        'fractions': {'goal_misjudged': pytest.approx(1 / 3),
                      'stopped_early': pytest.approx(2 / 3)}}
    assert summarise_episodes(lines[:1])['failures'] == {
        'episodes': 0, 'causes': {}, 'fractions': {}}


# Whatever happened, there is exactly one cause

words = st.sampled_from
maybe_image = words(['', '5b5b6c1f598f8ec1'])
answers = st.fixed_dictionaries({
    'purpose': words([p.value for p in AskPurpose] + ['belief']),
    'atom': words(['clear g', 'on r,g']), 'answer': words([v.value for v in Verdict]),
    'truth': st.booleans(), 'step': st.integers(0, 6), 'image_id': maybe_image,
    'stamp_ns': st.integers(0, 9)})
wrongs = st.tuples(
    words([p.value for p in AskPurpose]), words(['clear g', 'on r,g']),
    words([v.value for v in Verdict]), st.integers(0, 6), maybe_image, st.integers(0, 9),
    st.booleans()).map(list)
steps = st.fixed_dictionaries(
    {'action': words(['', str(R2), str(G2)]), 'status': words([s.value for s in FeedbackStatus]),
     'outcome': words(['', 'success', 'no_op', 'illegal']), 'right': st.booleans(),
     'image_id': maybe_image, 'stamp_ns': st.integers(0, 9),
     'applicable': words([None, True, False]),
     'effects': words([None, 'true_positive', 'false_positive', 'true_negative',
                       'false_negative']),
     'misled': st.lists(answers, max_size=2),
     'proposal': words([s.value for s in ProposalStatus])})
random_lines = st.fixed_dictionaries(
    {'measures': st.fixed_dictionaries({'solved': st.sampled_from([None, 0.0, 1.0])}),
     'stop': words([r.value for r in StopReason]),
     'message': words(['', 'why']), 'error': words([None, 'why']),
     'actions': st.lists(steps, max_size=6), 'wrong': st.lists(wrongs, max_size=6),
     'steps': st.integers(0, 7), 'max_actions': st.integers(0, 9),
     'enumerated_at': st.lists(st.integers(0, 7), max_size=3),
     'plans': st.lists(st.fixed_dictionaries(
         {'status': words(['solved', 'unsolvable']), 'step': st.integers(0, 7),
          'length': words([None, 0, 1, 5, 30])}), max_size=3),
     'goal_unmet': st.lists(st.fixed_dictionaries(
         {'literal': words(['on g,r', 'not clear r']), 'last': st.one_of(st.none(), answers)}),
         max_size=2),
     'stop_at_goal': st.booleans(),
     'last_observation': words([None, {'image_id': 'x', 'stamp_ns': 1}])})


@settings(max_examples=60, deadline=None)
@given(random_lines)
def test_any_line_has_exactly_one_cause(line):
    before = json.dumps(line)
    found = failure_of(line)
    assert json.dumps(line) == before, 'the line is only read'
    if measures.solved(line) or called_off(line) or without_truth(line):
        assert found is None
        return
    assert found.cause in Cause and found == failure_of(json.loads(before))
    assert (found.cause is Cause.INFRASTRUCTURE) == (not measures.scored(line))
    assert found.step >= 0 and found.text and len(found.answers) <= found.answer_count
    assert json.loads(json.dumps(found.to_json(), allow_nan=False)) == found.to_json()
    assert failure_counts([line])['episodes'] == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), words(['ground', 'decode', 'belief', 'blind', 'random']),
       words([0., .05, .3]), words([0., .3]), st.integers(1, 8))
def test_any_episode_has_a_cause_unless_it_is_solved(seed, method, error, failing, budget):
    world = MemoryWorld()
    line = episode(method, world=world, seed=seed, max_actions=budget,
                   failure_probability=failing,
                   grounder=GuessingGrounder(world, error=error, seed=seed))
    assert (line['failure'] is None) == measures.solved(line)
    assert measures.scored(line)
    if line['failure']:
        assert line['failure']['cause'] in {cause.value for cause in Cause}


def test_every_cause_has_a_rule_and_every_rule_is_told():
    assert {rule.cause for rule in RULES} == set(Cause)
    assert Counter(rule.cause for rule in RULES).most_common(1) == [(Cause.EFFECT_MISREAD, 2)]
    assert RULES[0].cause is Cause.INFRASTRUCTURE and RULES[-1].cause is Cause.STOPPED_EARLY
    assert all(rule.when and rule.example for rule in RULES)


def test_a_missed_effect_of_which_the_goal_answers_know_nothing():
    answer = {'purpose': 'effect', 'atom': 'clear r', 'answer': 'no', 'truth': True, 'step': 1,
              'image_id': 'i', 'stamp_ns': 5}
    line = {'measures': {'solved': 0.0}, 'stop': 'plan_done', 'steps': 2, 'wrong': [],
            'enumerated_at': [], 'last_observation': None, 'stop_at_goal': False, 'message': '',
            'plans': [{'status': 'solved', 'step': 0, 'length': 2}],
            'goal_unmet': [{'literal': 'on g,r', 'last': None}],
            'actions': [{'action': str(R2), 'status': 'executed', 'outcome': 'no_op',
                         'effects': 'false_negative', 'misled': [answer]},
                        {'action': str(G2), 'status': 'executed', 'outcome': 'success',
                         'effects': 'true_negative', 'misled': []}]}
    found = failure_of(line)
    assert (found.cause, found.step, found.image_id) == (Cause.EFFECT_MISREAD, 0, 'i')
    line['plans'].append({'status': 'solved', 'step': 1, 'length': 1})
    assert failure_of(line).cause is Cause.GOAL_MISJUDGED, 'a new plan was made after it'
    assert Atom.parse(answer['atom'])


def test_a_look_whose_image_is_elsewhere_is_known_by_its_id():
    seen = Observation.elsewhere('0123456789abcdef', 7, 'camera')
    assert (seen.image, seen.image_id, seen.stamp_ns, seen.frame_id) == (
        None, '0123456789abcdef', 7, 'camera')
    assert Observation.elsewhere('', 7).image_id == Observation(stamp_ns=7).image_id == ''
