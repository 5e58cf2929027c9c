"""Explained episodes: what was believed, what decided, why, why it stopped; and truth apart."""

import dataclasses
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from bag_cases import STRING, known_types, texts
from doubles import SearchPlanner
from replay_doubles import without_truth
from report_cases import sample, write_run
from sightplan import cli
from sightplan.model import (
    Answer,
    Asked,
    Atom,
    BackendError,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    InputError,
    Observation,
    Observed,
    Proposal,
    ProposalStatus,
    Question,
    Stepped,
    StopReason,
)
from sightplan.model.query import Failed
from sightplan.queries import DetectInstances
from sightplan.records.bag import BagWriter, MessageTypes, TopicType
from sightplan.records.bag_reading import open_bag
from sightplan.records.behaviour_tree import TYPE, NodeChange, read_tree
from sightplan.replay.batches import Source
from sightplan.runs import RunSettings, run
from sightplan_report import episode_view
from sightplan_report.commands.explain import _settings
from sightplan_report.deciding_answers import decide
from sightplan_report.episode_page import page
from sightplan_report.episode_reader import view
from sightplan_report.episode_text import _row, text_of
from sightplan_report.episode_view import rows_of
from sightplan_report.episode_words import method_sentence, stopped
from sightplan_report.html import _environment
from sightplan_report.inspect_log import _table
from sightplan_report.replay.decisions import Decisions, NotRepeatedError
from sightplan_report.replay.episodes import Found, choose, find_episodes
from test_metrics_failures import Proposer, imagines, says
from test_report_episode_page import recorded
from test_report_page import HOSTILE, Reader


def explain(episode, line, live=False, **more):
    return view(line, episode, live=live, **more)


def explained(change=None, **more):
    line, episode = recorded(change=change, **more)
    return explain(episode, line), episode


def decided(change=None, **more):
    made, episode = explained(change, **more)
    with Decisions(episode, planner=SearchPlanner()) as decisions:
        return decide(made, decisions.test)


def test_each_action_has_what_it_needs_its_plan_and_what_became_of_it():
    made, _ = explained()
    first, second, end = made.steps
    assert (first.number, first.action, first.status) == (0, 'moveblock(r, c2)', 'executed')
    assert [(fact.text, fact.held) for fact in first.preconditions] == [
        ('clear r', True), ('not incolumn r,c2', True)]
    assert first.why.plan == ('moveblock(r, c2)', 'moveblock(g, c2)') and first.why.step == 1
    assert second.why.step == 2 and 'action 2 of 2' in second.why.text
    assert [fact.text for fact in first.why.towards] == ['on g,r', 'incolumn r,c2',
                                                         'incolumn g,c2', 'clear g']
    assert {change.atom for change in first.then} >= {'incolumn r,c1', 'incolumn r,c2', 'clear g'}
    assert end.number is None and all(fact.held for fact in end.goal)
    assert made.ended == 'plan_done' and 'goal is reached' in made.stopped
    assert made.about.startswith('a vision-language model fills in the symbols')


def test_the_end_says_what_was_left_of_the_last_plan():
    """Before: "the last plan has 1 actions", or nothing, whatever was under way."""
    made, episode = explained()
    line = recorded()[0]
    assert made.steps[-1].why.text == ('the goal holds, as far as is known: nothing of the last '
                                       'plan was left')
    done = [place for place, event in enumerate(episode.events) if isinstance(event, Stepped)]
    ended = dataclasses.replace(episode.events[-1], reason=StopReason.CANCELLED)
    for place, action, left in zip(done, ('moveblock(r, c2)', 'moveblock(g, c2)'), (
            '2 actions of 2 of the last plan were left', '1 action of 2 of the last plan was left',
            ), strict=True):
        events = (*episode.events[:place], ended)
        made = explain(dataclasses.replace(episode, events=events), line)
        assert made.steps[-1].why.text == (
            f'{action} was next, or under way, when the episode ended: {left}')
    events = (*episode.events[:done[0]],
              dataclasses.replace(ended, reason=StopReason.GOAL_REACHED))
    made = explain(dataclasses.replace(episode, events=events), line)
    assert made.steps[-1].why.text == ('the goal holds, as far as is known: 2 actions of the last '
                                       'plan were not needed')


def test_questions_tell_how_they_moved_the_belief_and_what_they_matter_for():
    made, _ = explained()
    rows = {row.atom: row for batch in made.steps[0].batches for row in batch.rows}
    assert rows['clear r'].matters == 'precondition' and rows['clear g'].matters == 'goal'
    assert rows['on r,g'].before is None or rows['on r,g'].after > 0.5
    assert [batch.number for step in made.steps for batch in step.batches] == list(range(
        sum(len(step.batches) for step in made.steps)))


def test_truth_changes_nothing_but_its_own_part_and_the_marks_of_wrong_answers():
    line, episode = recorded(change=says('yes', 'on g,r', since=0))
    blind = without_truth(Source('a', episode)).episode
    with_truth, without = explain(episode, line), explain(blind, line)
    assert without.truth is None and with_truth.truth is not None
    def unmarked(batch):
        return dataclasses.replace(batch, rows=tuple(
            dataclasses.replace(row, truth=None) for row in batch.rows))
    steps = tuple(dataclasses.replace(step, batches=tuple(map(unmarked, step.batches)))
                  for step in with_truth.steps)
    told = dataclasses.replace(with_truth, truth=None, steps=steps)
    assert told.to_json() == without.to_json()
    assert '--- in truth' in text_of(with_truth) and '--- in truth' not in text_of(without)
    assert text_of(with_truth).count(' yes ✗ in truth no') == 1 and '✗' not in text_of(without)


def test_the_first_wrong_belief_is_found_with_the_answer_that_made_it():
    made, _ = explained(says('yes', 'on g,r', since=0))
    truth = made.truth
    assert truth.step == 0 and [change.atom for change in truth.differences] == ['on g,r']
    assert truth.differences[0].after == 0.0
    assert [answer for _, question, answer in truth.answers] == ['yes'] and truth.wrong_answers


def test_an_answer_that_was_right_when_it_was_given_is_not_called_wrong():
    """``on g,r`` is false before the second action, and true afterwards."""
    line, episode = recorded(change=says('no', 'on g,r'))
    said = [answer for event in episode.events if isinstance(event, Asked)
            for atom, answer in event.by_atom.items() if str(atom) == 'on g,r']
    wrong = {(row[3], row[1]) for row in line['wrong'] if row[1] == 'on g,r'}
    truth = explain(episode, line).truth
    assert [change.atom for change in truth.differences] == ['on g,r']
    assert 0 < len(truth.answers) <= len(wrong) < len(said)


def test_where_nothing_could_be_compared_no_agreement_is_said():
    line, episode = recorded()
    timeless = tuple(dataclasses.replace(event, observation=dataclasses.replace(
        event.observation, stamp_ns=0)) if isinstance(event, Observed) else event
        for event in episode.events)
    made = explain(dataclasses.replace(episode, events=timeless), line)
    assert 'could not be compared' in made.truth.first and made.truth.step is None


@pytest.mark.parametrize('reason', [StopReason.BUDGET, StopReason.ERROR])
def test_no_answer_decided_an_end_that_the_method_did_not_choose(reason):
    line, episode = recorded(change=says('no', 'clear r', calls=(1,)))
    events = (*episode.events[:-1], dataclasses.replace(episode.events[-1], reason=reason))
    made = decide(explain(dataclasses.replace(episode, events=events), line), None, 'no')
    assert made.steps[-1].deciding.text == 'no answer: the method did not choose this end'


def test_of_a_bag_that_is_cut_off_the_results_tell_the_end():
    line, episode = recorded()
    torn = dataclasses.replace(episode, events=episode.events[:8], truth=None)
    assert 'the recording ends before' in explain(torn, line).stopped
    made = explain(torn, line, live=True)
    assert made.ended == 'plan_done' and made.truth.result.endswith('solved')
    assert any('the bag is cut off after' in note for note in made.notes)
    for tests in (None, 'replayed'):
        end = decide(made, tests and pytest.fail, '', effort=0).steps[-1]
        assert end.deciding.text == 'not recorded: the bag is cut off'
    recorded_only = explain(dataclasses.replace(torn, truth=episode.truth), line, live=True)
    assert 'decisions that were recorded' in recorded_only.truth.first


def test_what_nobody_could_read_is_not_believed_wrongly():
    line, episode = recorded(change=says('unparsed', 'clear r'))
    assert explain(episode, line).truth.differences == ()

def believing(episode, believed):
    """The episode with other beliefs: ``believed`` of the state that was true in each."""
    return dataclasses.replace(episode, events=tuple(
        dataclasses.replace(event, belief=believed(event.belief.state))
        if isinstance(event, BeliefUpdated) else event for event in episode.events))


def test_a_belief_that_takes_no_side_is_not_wrong():
    line, episode = recorded()
    for p, step in ((0.45, None), (0.35, 0)):
        made = explain(believing(episode, lambda state, p=p: Belief(
            state, dict.fromkeys(state, p))), line)
        assert made.truth.step == step and ('agreed' in made.truth.first) is (step is None)


def test_a_wrong_state_that_was_planned_from_is_told_where_the_belief_was_unsure():
    line, episode = recorded()
    truth = explain(believing(episode, lambda state: Belief(
        frozenset(sorted(state)[1:]), dict.fromkeys(state, 0.5))), line).truth
    assert truth.step == 0 and len(truth.differences) == 1
    assert 'the state from which its plan was made first differed' in truth.first
    assert 'agreed' not in truth.first


@pytest.mark.parametrize(('before', 'after', 'words'), [
    (0.001, 0.001, 'was not as expected, and left the belief at 0.00'),
    (0.2, 0.9, 'was not as expected, and moved the belief from 0.20 to 0.90')])
def test_a_belief_that_did_not_move_is_not_said_to_have_moved(before, after, words):
    made, _ = explained(says('no', 'clear r', calls=(1,)))
    found = next(step for step in made.steps if step.status == 'withheld')
    batches = tuple(dataclasses.replace(batch, rows=tuple(
        dataclasses.replace(row, before=before, after=after) for row in batch.rows))
        for batch in found.batches)
    alone = dataclasses.replace(made, steps=(dataclasses.replace(found, batches=batches),))
    text = decide(alone, None).steps[0].deciding.text
    assert text.endswith(words)


def test_the_answer_that_held_an_action_back_decided():
    made = decided(says('no', 'clear r', calls=(1,)))
    step = next(step for step in made.steps if step.status == 'withheld')
    assert step.deciding.how == 'replayed'
    assert 'without it the method would do moveblock(r, c2)' in step.deciding.text
    assert 'clear r' in [row.atom for batch in step.batches for row in batch.rows
                         if (batch.number, row.place) == (step.deciding.batch,
                                                          step.deciding.place)]


def test_where_no_answer_was_needed_alone_the_opposite_is_tried():
    made = decided()
    texts = [step.deciding.text for step in made.steps]
    assert 'the opposite of' in texts[1]
    assert all(one.opposite is None or not one.without.differs
               for step in made.steps for one in step.deciding.tested)
    text = page(made)
    assert 'class="tag">its opposite decides<' in text
    assert text.count('class="tag">decided<') == sum(
        '": without it' in one for one in texts), 'no answer that nothing depends on'


def test_an_answer_that_kept_it_from_a_plan_is_found():
    made = decided(imagines({'on r,g', 'incolumn r,c1', 'incolumn g,c1'}))
    assert made.ended == 'no_plan'
    end = made.steps[-1]
    assert end.deciding.how == 'replayed' and 'do moveblock' in end.deciding.text


def test_effort_bounds_what_is_run_again_and_the_rest_is_said_to_be_by_belief():
    made, _ = explained()
    calls = []

    def test(decision, key):
        calls.append(decision)
        same = episode_view.Otherwise('do it', False)
        return episode_view.Tested(*key, same, same)

    one = decide(made, test, effort=1)
    assert set(calls) == {2}, 'the end comes first'
    assert {step.deciding.how for step in one.steps} == {'replayed', 'belief'}
    assert 'For 2 decisions that was not done' in one.tested


@pytest.mark.parametrize('spoil', [
    lambda events: tuple(dataclasses.replace(
        event, action=dataclasses.replace(event.action, args=('g', 'c3')))
        if isinstance(event, Stepped) else event for event in events),
    lambda events: tuple(event for event in events if not isinstance(event, Asked)),
    lambda events: (*events[:-1], Asked(Observation(), (DetectInstances(Observation(), 1),),
                                        (Failed('BackendError: no reply'),)), events[-1]),
])
def test_what_does_not_repeat_is_not_run_again(spoil):
    line, episode = recorded()
    spoilt = dataclasses.replace(episode, events=spoil(episode.events))
    with pytest.raises(NotRepeatedError):
        Decisions(spoilt, planner=SearchPlanner())
    made = decide(explain(spoilt, line), None, 'it was run by another version')
    assert all(step.deciding.how in ('belief', 'none') for step in made.steps)


def test_a_model_that_plans_decides_by_its_words():
    replies = (Proposal(ProposalStatus.UNPARSED, message='the reply was not JSON', text=HOSTILE),
               Proposal(ProposalStatus.EMPTY, message='the plan was empty', text='[]'))
    made, _ = explained(method='plan', proposer=Proposer(*replies))
    first = made.steps[0]
    assert first.status == 'invalid' and first.why.reply == HOSTILE and not first.action
    assert first.deciding.how == 'words' and 'the model proposed' in first.deciding.text
    assert 'without actions' in made.stopped
    assert HOSTILE.split()[0] in text_of(made)
    html = page(made)
    assert '<script>alert' not in html and 'alert(1)' in html
    Reader(html)


def test_a_model_that_fails_to_plan_is_the_last_that_happened():
    class Gone:
        model, usage = 'm', None

        def propose(self, observation, task, timeout_s=None):
            raise BackendError(HOSTILE)
    made, _ = explained(method='plan', proposer=Gone())
    [end] = made.steps
    assert end.why.text == f'the model failed: BackendError: {HOSTILE}' and made.ended == 'error'
    [entry] = (entry for entry in end.entries if entry.kind == 'proposal')
    assert entry.title == 'proposal: failed' and entry.good is False
    assert f'BackendError: {HOSTILE}' in entry.facts
    html = page(made)
    assert 'the model failed' in html and '<script>alert' not in html


def test_json_is_plain_and_whole():
    made = decided()
    data = json.loads(json.dumps(made.to_json()))
    assert data['steps'][0]['deciding']['tested']
    assert {'line', 'picture'}.isdisjoint(data) and 'entries' not in data['steps'][0]
    assert data['truth']['result'].endswith('solved')


def test_a_recording_that_was_cut_off_is_explained_as_far_as_it_goes():
    line, episode = recorded()
    events = episode.events[:-1]
    assert not isinstance(events[-1], EpisodeEnded)
    made = explain(dataclasses.replace(episode, events=events, warnings=('cut',)), line)
    assert made.ended == '' and 'ends before the episode' in made.stopped
    assert made.notes == ('cut',) and len(made.steps) == 3


@pytest.mark.parametrize('reason', StopReason)
def test_every_reason_has_a_sentence_of_its_own(reason):
    assert stopped(reason.value, 'because', 7).endswith('(because)') or (
        reason is StopReason.BUDGET and '7' in stopped(reason.value, '', 7))
    others = {stopped(other.value, '') for other in StopReason if other is not reason}
    assert stopped(reason.value, '') not in others


@pytest.mark.parametrize(('message', 'words'), [
    ('StoppedError: too fast (measured_velocity)', 'a person re-arms it'),
    ('WorldError: camera fell silent (heartbeat)', 'fell silent'),
    ('DeadlineError: the episode took longer than 5 s', 'within its limit'),
    ('unexpected KeyError: 3', 'a defect'),
])
def test_errors_of_the_machinery_are_told_apart(message, words):
    assert words in stopped('error', message)


def test_methods_are_described_by_their_own_module():
    assert method_sentence('idle') and method_sentence('no_such_method') == ''


# ---------------------------------------------------------------------------- behaviour trees

STATUS_CHANGE = """
builtin_interfaces/Time timestamp
string node_name
uint16 uid
string previous_status
string current_status
"""
LOG = """
builtin_interfaces/Time timestamp
BehaviorTreeStatusChange[] event_log
"""


@pytest.fixture(scope='module')
def nav2(tmp_path_factory):
    """The types of nav2_msgs, as a robot has them."""
    folder = tmp_path_factory.mktemp('nav2_msgs')
    (folder / 'BehaviorTreeStatusChange.msg').write_text(STATUS_CHANGE)
    (folder / 'BehaviorTreeLog.msg').write_text(LOG)
    return MessageTypes({'nav2_msgs': folder})


def log_of(nav2, *changes):
    """A serialized log of changes: node, before, after."""
    types = nav2.store.types
    time = types['builtin_interfaces/msg/Time'](sec=3, nanosec=0)
    return bytes(nav2.store.serialize_cdr(types[TYPE](time, [
        types['nav2_msgs/msg/BehaviorTreeStatusChange'](time, node, 7, before, after)
        for node, before, after in changes]), TYPE))


def test_a_tree_is_read_by_the_definition_in_the_bag(nav2, tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    topic = writer.add_topic('/robot/behavior_tree_log', nav2.get(TYPE))
    other = writer.add_topic('/talk', known_types().get(STRING))
    writer.write(topic, 20, log_of(nav2, ('ComputePath', 'IDLE', 'RUNNING'),
                                   ('Follow\0Path', 'RUNNING', 'FAILURE')))
    writer.write(other, 21, texts('hello'))
    writer.write(topic, 22, b'\0\1\0\0rubbish')
    writer.close()
    changes, warnings = read_tree(open_bag(tmp_path / 'bag'))
    assert [(one.node, one.before, one.after) for one in changes] == [
        ('ComputePath', 'IDLE', 'RUNNING'), ('Follow\ufffdPath', 'RUNNING', 'FAILURE')]
    assert changes[0].stamp_ns == 3_000_000_000 and changes[0].log_ns == 20
    assert len(warnings) == 1 and '/robot/behavior_tree_log' in warnings[0]


def test_changes_of_a_tree_stand_beside_the_actions_of_their_time():
    line, episode = recorded()
    times = tuple(range(100, 100 + len(episode.events)))
    episode = dataclasses.replace(episode, received_ns=times)
    acted = [time for time, event in zip(times, episode.events, strict=True)
             if isinstance(event, Stepped)]
    tree = [NodeChange(name, 'IDLE', 'RUNNING', 0, time, '/log') for name, time in (
        ('before', 1), ('first', acted[0]), ('second', acted[0] + 1), ('end', acted[1] + 1))]
    made = explain(episode, line, tree=tree)
    assert [[one.node for one in step.tree] for step in made.steps] == [
        ['first'], ['second'], ['end']]
    assert 'first IDLE → RUNNING' in text_of(made)
    assert 'nothing of the time' in explain(episode, line, tree=tree[:1]).notes[0]


# ------------------------------------------------------------------------------ which episode

FOUND = [Found(name, name, 'solved', None) for name in (
    'blocks/simple/problem_00#0', 'blocks/simple/problem_01#0', 'blocks/hard/problem_11#0')]


@pytest.mark.parametrize(('wanted', 'number'), [
    ('2', 1), ('blocks/hard/problem_11#0', 2), ('problem_00', 0), ('blocks/h', 2),
    ('hard', 2), ('problem_01#0', 1)])
def test_an_episode_is_chosen_by_number_id_or_part(wanted, number):
    assert choose(FOUND, wanted, 'run') is FOUND[number]


@pytest.mark.parametrize(('wanted', 'message'), [
    ('', r'run: holds 3 episodes(.|\n)* 3  blocks/hard/problem_11#0'),
    ('4', 'no episode number 4; there are 3'), ('0', 'no episode number 0'),
    ('blocks/simple', r'2 episodes fit(.|\n)* 1  blocks/simple/problem_00#0'),
    ('problem_12', 'the nearest are .*problem_11'), ('zzzzzz', 'has no episode')])
def test_what_is_not_clear_is_asked_for(wanted, message):
    with pytest.raises(InputError, match=message):
        choose(FOUND, wanted, 'run')


def test_the_only_episode_needs_no_name():
    assert choose(FOUND[:1], '', 'run') is FOUND[0]


# -------------------------------------------------------------------------------- the command

@pytest.fixture(scope='module')
def made_run(tmp_path_factory):
    """Two episodes of ``ground``, with bags."""
    folder = tmp_path_factory.mktemp('explain') / 'run'
    run(RunSettings(method='ground', split='simple', backend='noisy_oracle', episodes=2,
                    bags='all', out=str(folder), world_options={'pictures': 'none'}),
        planner=SearchPlanner())
    return folder


def test_from_a_run_to_text_page_and_json(made_run, capsys):
    assert cli.main(['explain', str(made_run)]) == 2
    assert '   2  blocksworld/simple/problem_16#0  solved' in capsys.readouterr().err
    assert cli.main(['explain', str(made_run), '2', '--json', '--effort', '6']) == 0
    output = capsys.readouterr()
    result = json.loads(output.out.splitlines()[-1])
    assert result['id'] == 'blocksworld/simple/problem_16#0' and result['ended'] == 'plan_done'
    assert any(step['deciding']['how'] == 'replayed' for step in result['steps'])
    assert 'step 0: moveblock' in output.err
    html = (made_run / 'explained' / 'blocksworld_simple_problem_16_0.html').read_text()
    assert str(made_run / 'explained') in result['page'] and 'The method was run again' in html


@pytest.mark.parametrize(('out', 'reason'), [
    ('.', 'is a folder (name a file in it)'),
    ('none/x.html', 'there is no folder {folder}/none (make it first)'),
    ('episodes.jsonl', 'let its name end in .html')])
def test_where_the_page_goes_is_checked_before_the_work(made_run, tmp_path, capsys, monkeypatch,
                                                        out, reason):
    monkeypatch.setattr('sightplan_report.replay.episodes.find_episodes', pytest.fail)
    assert cli.main(['explain', str(made_run), '2', '--out', str(tmp_path / out)]) == 2
    said = capsys.readouterr().err
    assert f'--out {tmp_path / out}' in said and reason.format(folder=tmp_path) in said


def test_episodes_of_a_run_that_was_killed_before_one_was_finished(made_run, tmp_path, capsys):
    shutil.copytree(made_run, tmp_path / 'run')
    (tmp_path / 'run' / 'episodes.jsonl').write_text('')
    bags = tmp_path / 'run' / 'bags'
    next(bags.iterdir()).rename(bags / '.under-way-7')
    found = find_episodes(tmp_path / 'run')
    assert len(found) == len(list(bags.iterdir()))
    assert sum('.under-way-7' in one.title for one in found) == 1
    pages = set()
    for number in (1, 2):
        assert _settings(found[number - 1])['world_options'] == {'pictures': 'none'}
        assert cli.main(['explain', str(tmp_path / 'run'), str(number), '--effort', '1',
                         '--json']) == 0
        pages.add(Path(json.loads(capsys.readouterr().out.splitlines()[-1])['page']))
    assert {page.parent for page in pages} == {tmp_path / 'run' / 'explained'}
    assert any('under-way-7' in page.name for page in pages) and len(pages) == 2


def test_from_a_bag_alone_also_a_truncated_one(made_run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = next(next((made_run / 'bags').iterdir()).glob('*.mcap')).read_bytes()
    (tmp_path / 'torn.mcap').write_bytes(whole[:len(whole) // 5])
    assert cli.main(['explain', 'torn.mcap', '--effort', '0']) == 0
    text = ' '.join(capsys.readouterr().out.split())
    assert 'is truncated' in text and 'the recording ends before the episode does' in text
    assert list(tmp_path.glob('blocksworld_*.html'))


def test_a_tree_in_the_bag_of_an_episode_is_shown(made_run, nav2, tmp_path, capsys):
    bag = open_bag(next((made_run / 'bags').iterdir()))
    writer, numbers = BagWriter(tmp_path / 'bag'), {}
    for name, topic in bag.topics.items():
        numbers[name] = writer.add_topic(name, TopicType(topic.type, topic.definition, ''))
    tree = writer.add_topic('/behavior_tree_log', nav2.get(TYPE))
    messages = list(bag.messages())
    for message in messages:
        writer.write(numbers[message.topic], message.log_ns, message.data)
    writer.write(tree, messages[len(messages) // 2].log_ns, log_of(
        nav2, ('FollowPath', 'RUNNING', 'FAILURE')))
    writer.close()
    assert cli.main(['explain', str(tmp_path / 'bag'), '--effort', '0', '--out',
                     str(tmp_path / 'page.html')]) == 0
    assert 'FollowPath RUNNING → FAILURE' in capsys.readouterr().out
    assert 'FollowPath' in (tmp_path / 'page.html').read_text()


def test_without_a_bag_actions_and_plans_are_explained(made_run, tmp_path, capsys):
    shutil.copytree(made_run, tmp_path / 'run')
    shutil.rmtree(tmp_path / 'run' / 'bags')
    assert cli.main(['explain', str(tmp_path / 'run'), '1', '--json']) == 0
    made = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 'was not kept' in made['notes'][0] and 'a plan of' in made['steps'][0]['why']['text']
    assert made['truth']['result'].endswith('solved')


def test_a_sample_is_explained_by_its_line(tmp_path, capsys):
    write_run(tmp_path / 'samples', [sample(1, False)], kind='samples', suite='predicates',
              method='ask')
    (found,) = find_episodes(tmp_path / 'samples')
    assert found.is_sample and found.outcome == 'false_positive'
    assert cli.main(['explain', str(tmp_path / 'samples'), '--json']) == 0
    out = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert out['cause'] == 'false_positive' and out['truth'] == 'false'
    assert 'cannot be shown from the data' in out['notes'][0]
    assert 'wrong: false positive' in Path(out['page']).read_text()


def test_what_is_neither_run_nor_bag_is_named(tmp_path, capsys):
    assert cli.main(['explain', str(tmp_path / 'nowhere')]) == 2
    assert 'nowhere' in capsys.readouterr().err
    (tmp_path / 'broken.mcap').write_bytes(b'no bag at all')
    assert cli.main(['explain', str(tmp_path / 'broken.mcap')]) == 2
    assert 'broken.mcap' in capsys.readouterr().err


def test_it_needs_no_truth_to_run_a_method_again():
    _, episode = recorded()
    blind = without_truth(Source('a', episode)).episode
    with Decisions(blind, planner=SearchPlanner()) as decisions:
        assert [str(one) for one in decisions.recorded][-1] == 'stop (plan done)'


def test_a_probability_that_is_only_a_bound_is_shown_as_one():
    atom = Atom('clear', ('r',))
    judged = [SimpleNamespace(question=Question(atom, 'Is r clear?'), place=place, expected=None,
                              truth=None, answer=Answer('No', p_yes, 0.6, bounded=True))
              for place, p_yes in enumerate((0.08, 0.9))]
    below, above = rows_of(judged, {})
    assert ', P(yes) ≤ 0.12' in _row(below) and ', P(yes) ≥ 0.60' in _row(above)
    pieces = _environment().get_template('pieces.jinja').make_module()
    made = explained()[0]
    shown = str(pieces.answers(made, made.steps[0].batches[0], [below, above]))
    assert re.findall(r'</span>\s*([^<]*\d)</td>', shown) == ['≤ 0.12', '≥ 0.60']
    assert '≤ 0.118' in _table([{'atom': 'clear r', 'p_yes': 0.08, 'p_no': 0.6, 'bounded': True}])
    assert judged[0].answer.summary() == 'no (≤ 0.12)'
    assert [one.answer.p_yes_text() for one in judged] == ['≤ 0.118', '≥ 0.600']
