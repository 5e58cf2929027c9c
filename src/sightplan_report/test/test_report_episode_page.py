"""Pages of episodes: out of bags, out of results alone, in words that fit what happened."""

import dataclasses
import re

import numpy as np
import pytest

from doubles import Answering, MemoryWorld, SearchPlanner, TruthGrounder, spec_of
from episode_events import Tally, TallyReply
from replay_doubles import EpisodeDouble, Keeper
from report_cases import write_run
from sightplan.agent import make_policy, run_episode
from sightplan.metrics import EpisodeScorer
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    InputError,
    Observation,
    Observed,
    Proposal,
    ProposalStatus,
    Proposed,
    Verdict,
)
from sightplan_report.deciding_answers import decide
from sightplan_report.episode_page import page
from sightplan_report.episode_reader import read_recorded, view
from sightplan_report.page import build
from sightplan_report.results import gather
from sightplan_report.tables import make_tables
from test_metrics_failures import Proposer, imagines, says
from test_report_page import HOSTILE, Reader

GOAL = ('incolumn r,c2', 'incolumn g,c2', 'on g,r', 'clear g')


class Truth(Answering):
    """A grounder that gives probabilities and a text with each answer."""

    def __init__(self, grounder, text=''):
        self._grounder, self._text = grounder, text
        self.model = grounder.model

    def ground(self, *arguments, **more):
        answers = self._grounder.ground(*arguments, **more)
        return [dataclasses.replace(
            answer, p_yes=0.9 if answer.verdict is Verdict.YES else 0.2, text=self._text)
            for answer in answers]


def recorded(method='ground', change=None, proposer=None, text='', **spec):
    """Run an episode on two blocks; its line and what a bag would tell of it."""
    world = MemoryWorld()
    keeper, scorer = Keeper(world), EpisodeScorer(world)

    class Both:
        def record(self, event):
            scorer.record(event)
            keeper.record(event)
    run_episode(spec_of(method=method, **spec), make_policy(method), world,
                Truth(TruthGrounder(world, change), text), SearchPlanner(), Both(), world.domain,
                visual_planner=proposer)
    episode, = keeper.episodes
    large = {key: np.repeat(np.repeat(image, 20, axis=0), 20, axis=1)
             for key, image in episode.images.items()}
    return scorer.result(), dataclasses.replace(episode, images=large)


def view_of(line, episode, tmp_path, **more):
    return view(line, episode, folder=tmp_path / 'run', **more)


def shown(step):
    """All entries of a step, in the order of its page."""
    return [*step.entries, step.act, *step.checks]


def entries(episode, kind):
    return [entry for step in episode.steps for entry in shown(step) if entry.kind == kind]


def test_steps_hold_what_was_seen_asked_planned_and_done(tmp_path):
    line, episode = recorded()
    made = view_of(line, episode, tmp_path)
    assert made.solved and made.result == 'solved in 2 actions' and made.line['failure'] is None
    assert [step.number for step in made.steps][:2] == [0, 1]
    first = made.steps[0]
    kinds = [entry.kind for entry in shown(first)]
    assert (kinds.index('observation') < kinds.index('questions') < kinds.index('plan')
            < kinds.index('act'))
    check = first.checks[1]
    assert check.kind == 'questions' and check.title.startswith('effects of'), 'of this action'
    assert check.batch == made.steps[1].batches[0], 'decides what comes next'
    plan = entries(made, 'plan')[0]
    assert plan.title == 'plan of 2 actions' and '→' in dict(plan.texts)['plan']
    assert first.title.endswith(': executed')
    assert {held for _, held in made.reached} == {True} and len(made.reached) == 4


def test_all_questions_are_there_and_none_is_wrong(tmp_path):
    line, episode = recorded()
    made = view_of(line, episode, tmp_path)
    rows = [row for entry in entries(made, 'questions') for row in entry.batch.rows]
    assert len(rows) == line['questions'] and not any(row.wrong for row in rows)
    assert {row.p_yes for row in rows} == {0.9, 0.2} and None not in {row.truth for row in rows}
    first, folded = made.parted(entries(made, 'questions')[0].batch)
    assert folded and not any(row.goal for row in folded), 'goal first'
    assert len(first) == 8 and any(row.goal for row in first)


def test_wrong_answers_come_first_and_are_marked(tmp_path):
    line, episode = recorded(change=says('no', 'clear g', since=3))
    made = view_of(line, episode, tmp_path)
    assert made.solved is False and made.result == 'failed: precondition judged false'
    asked = next(b for b in entries(made, 'questions') if b.title.startswith('preconditions of')
                 and b.good is False)
    row = made.parted(asked.batch)[0][0]
    assert (row.atom, row.answer, row.truth, row.wrong, row.surprising) == (
        'clear g', 'no', True, True, True)
    assert sum(step.wrong for step in made.steps) == len(line['wrong'])
    assert [step.number for step in made.steps if step.here] == [line['failure']['step']]
    assert made.line['failure']['evidence']['answers'][0]['atom'] == 'clear g'
    withheld = next(b for b in entries(made, 'act') if 'withheld' in b.title)
    assert 'it was legal' in withheld.facts and withheld.good is False
    text = page(made)
    assert text.count('<tr class="wrong">') >= 2 and '✗' in text
    assert 'the failure shows here' in text and '<sup>withheld</sup>' in text
    assert 'id="episode-truth"' in text and 'default-src' in text
    Reader(text)


def test_a_page_says_why_and_which_answer_decided(tmp_path):
    line, episode = recorded()
    text = page(decide(view_of(line, episode, tmp_path), None, 'nobody tried'))
    assert 'it is the first of a plan of 2 actions' in text and 'what the action needs' in text
    assert 'nobody tried' in text and text.count('<span class="tag">decided</span>') == 3
    assert '<tr class="here">' in text
    Reader(text)


def test_a_page_leaves_out_what_it_says_elsewhere(tmp_path):
    line, episode = recorded()
    text = page(view_of(line, episode, tmp_path))
    asked = re.findall(r'<table class="answers">.*?</table>', text, re.DOTALL)
    assert '>before<' not in asked[0], 'a state without numbers is what was answered'
    assert '>before<' in next(one for one in asked if '>0.00</td><td class="number">1.00' in one)
    assert 'taken not to hold' in text and '>towards<' not in text
    assert 'until the next decision' not in text, 'the next step shows each change'
    folded = re.search(r'more answers</summary>(.*?)</details>', text, re.DOTALL)[1]
    assert 'Is the red block' in folded and 'class="tick"' in folded
    assert '<th>truth</th>' not in folded


def test_pictures_are_shown_once_and_small(tmp_path):
    line, episode = recorded()
    made = view_of(line, episode, tmp_path)
    shown = [block.picture for block in entries(made, 'observation') if block.picture]
    with_image = [picture for picture in shown if picture.uri]
    assert len(with_image) == len({picture.image_id for picture in with_image}) == len(
        {event.observation.image_id for event in episode.events if isinstance(event, Asked)})
    assert all(picture.uri.startswith('data:image/jpeg;base64,') for picture in with_image)
    assert (with_image[0].width, with_image[0].height) == (40, 40)
    large = dataclasses.replace(episode, images={
        key: np.zeros((900, 1200, 3), np.uint8) for key in episode.images})
    picture = next(b.picture for b in entries(view_of(line, large, tmp_path), 'observation')
                   if b.picture)
    assert (picture.width, picture.height) == (420, 315)


def test_a_bag_without_pictures_or_truth_is_shown_too(tmp_path):
    line, episode = recorded(change=imagines(GOAL))
    blind = dataclasses.replace(episode, images={}, truth=None, warnings=('event 7 is missing',))
    made = view_of(line, blind, tmp_path)
    assert not [b for b in entries(made, 'observation') if b.picture and b.picture.uri]
    rows = [row for entry in entries(made, 'questions') for row in entry.batch.rows]
    assert {row.truth for row in rows} == {None} and not any(row.wrong for row in rows)
    assert made.notes == ('event 7 is missing',)
    assert 'truth not known' in page(made)


def test_beliefs_show_what_changed_most(tmp_path):
    line, episode = recorded()
    a, b, c = Atom('on', ('r', 'g')), Atom('clear', ('g',)), Atom('clear', ('r',))
    start, *rest = episode.events
    before = BeliefUpdated(Belief(frozenset(), {a: 0.5, b: 0.5, c: 0.5}))
    after = BeliefUpdated(Belief(frozenset(), {a: 0.5, b: 0.75, c: 0.1}))
    rest = [event for event in rest if not isinstance(event, BeliefUpdated)]
    changed = dataclasses.replace(episode, events=(start, rest[0], before, after, *rest[1:]))
    first, second = entries(view_of(line, changed, tmp_path), 'belief')
    assert first.title == 'first belief, 3 atoms' and {c.before for c in first.changes} == {None}
    assert [(c.atom, c.before, c.after, c.goal) for c in second.changes] == [
        ('clear g', 0.5, 0.75, True), ('clear r', 0.5, 0.1, False)]
    assert '2 of 3 atoms changed' in second.title
    text = page(view_of(line, changed, tmp_path))
    assert 'width:75.0%' in text and 'left:50.0%' in text


def test_a_state_without_probabilities_is_a_list_of_atoms(tmp_path):
    line, episode = recorded(change=says('yes', 'on g,r', calls=(0,)))
    told = [dict(block.texts) for block in entries(view_of(line, episode, tmp_path), 'belief')]
    assert 'on g,r ✗' in told[0]['true'] and 'clear g ✗' not in told[0]['true']


def test_proposals_show_plan_reasons_and_reply(tmp_path):
    move = Action.parse('moveblock(r, c2)')
    line, episode = recorded('plan', max_actions=2, proposer=Proposer(
        Proposal(ProposalStatus.PLANNED, (move,), explanation='It is free.', text='{"plan": 1}'),
        Proposal(ProposalStatus.UNPARSED, text=HOSTILE, message='no JSON')))
    made = view_of(line, episode, tmp_path)
    good, bad = entries(made, 'proposal')[:2]
    assert good.title == 'proposal of 1 action' and dict(good.texts) == {
        'plan': 'moveblock(r, c2)', 'why': 'It is free.', 'reply': '{"plan": 1}'}
    assert bad.title == 'proposal: unparsed' and bad.good is False and 'no JSON' in bad.facts
    text = page(made)
    assert text.count('It is free.') == 1 and made.steps[0].why.explanation
    assert 'believed when' not in text and '>towards<' not in text, 'it has no belief'
    assert 'no belief was recorded' not in text
    assert '<script' not in text and '&lt;script&gt;' in text
    Reader(text)


def test_long_replies_are_cut_and_reasons_shown(tmp_path):
    line, episode = recorded(text='because ' * 2000)
    text = page(view_of(line, episode, tmp_path))
    assert '(15,999 characters)' in text and 'because ' * 501 not in text
    line, episode = recorded(text='Yes.')
    made = view_of(line, episode, tmp_path)
    assert not any(row.reply for batch in made.steps[0].batches for row in batch.rows)


def test_told_facts_are_shown_with_their_look(tmp_path):
    line, episode = recorded()
    told = Observation.elsewhere('x', 5)
    told = dataclasses.replace(told, privileged_facts={Atom('on', ('r', 'g')): False,
                                                       Atom('clear', ('r',)): True})
    asked = next(e for e in episode.events if isinstance(e, Asked))
    events = (*episode.events[:1], dataclasses.replace(asked, observation=told),
              *episode.events[1:])
    made = view_of(line, dataclasses.replace(episode, events=events), tmp_path)
    seen = entries(made, 'observation')[0]
    assert dict(seen.texts) == {'true': 'clear r', 'false': 'on r,g'}


def test_a_query_of_any_kind_is_shown_and_explained_by_what_it_says_of_itself(tmp_path):
    line, episode = recorded()
    seen = next(e for e in episode.events if isinstance(e, Observed)).observation
    asked = Asked(seen, (Tally(np.zeros((4, 4, 3), np.uint8), Atom('block', ('r',))),),
                  (TallyReply(3, 'I see 3 of them'),), seconds=0.5, model='eye')
    with_it = dataclasses.replace(episode, events=(*episode.events[:2], asked,
                                                   *episode.events[2:]))
    made = view_of(line, with_it, tmp_path)
    entry, = entries(made, 'proposal')
    assert (entry.title, entry.seconds, entry.facts) == ('how many block r', 0.5, ('eye',))
    assert dict(entry.texts) == {'reply': 'number 3, text I see 3 of them'}
    assert made.steps[0].things == ('number 3, text I see 3 of them',)
    assert made.steps[0].batches == view(line, episode).steps[0].batches


def test_an_episode_without_events_but_its_start_is_shown(tmp_path):
    line, episode = recorded()
    cut = dataclasses.replace(episode, events=episode.events[:1])
    assert [step.number for step in view_of(line, cut, tmp_path).steps] == [None]


# Without a bag


def test_results_alone_show_actions_wrong_answers_and_a_hint(tmp_path):
    line, _ = recorded(change=says('no', 'clear g', since=3))
    made = view(line, folder=tmp_path / 'run', notes=(read_recorded(line, tmp_path)[1],))
    assert [b.title for b in entries(made, 'act')] == [
        f'{step["action"]}: {step["status"]}' for step in line['actions']]
    rows = [row for entry in entries(made, 'questions') for row in entry.batch.rows]
    assert len(rows) == len(line['wrong']) and all(row.wrong for row in rows)
    assert '--bags failed' in page(made)
    assert {literal for literal, held in made.reached if held is False} == {
        unmet['literal'] for unmet in line['goal_unmet']}


def test_why_there_is_nothing_of_a_bag_is_said(tmp_path):
    line, episode = recorded()
    assert read_recorded(line, tmp_path, imported=True)[1].startswith('The results were imported')
    line = {**line, 'bag': 'bags/x'}
    found, warning = read_recorded(line, tmp_path)
    assert found is None and 'x: this bag was not kept' in warning
    (tmp_path / 'bags' / 'x').mkdir(parents=True)

    def broken(path):
        raise InputError(f'{path}: rubbish')
        yield
    assert 'cannot be read' in read_recorded(line, tmp_path, read=broken)[1]
    other = dataclasses.replace(episode, spec=dataclasses.replace(episode.spec, id='o'))
    assert 'does not hold' in read_recorded(line, tmp_path, read=lambda path: [other])[1]
    assert read_recorded(line, tmp_path, read=lambda path: [other, episode]) == (episode, '')


def test_a_report_begins_with_the_pictures_of_one_episode(tmp_path):
    line, episode = recorded()
    (tmp_path / 'run' / 'bags' / 'x').mkdir(parents=True)
    write_run(tmp_path / 'run', [{**line, 'bag': 'bags/x'}])
    results = gather(tmp_path / 'run')
    text = build(results, make_tables(results), read=lambda path: [episode]).html
    Reader(text)
    strip, tiles = text.index('<section class="strip">'), text.index('class="tiles"')
    assert strip < tiles < text.index('<table')
    assert text[strip:tiles].count('<img src="data:image/jpeg;base64,') == line['steps']
    assert all(entry['action'].split()[0] in text[strip:tiles] for entry in line['actions'])
    assert 'class="strip"' not in build(results, make_tables(results)).html, 'without a bag'


@pytest.mark.parametrize('purpose', list(AskPurpose))
def test_every_purpose_has_words(purpose, tmp_path):
    line, episode = recorded()
    events = tuple(dataclasses.replace(event, purpose=purpose) if isinstance(event, Asked)
                   else event for event in episode.events)
    made = view_of(line, dataclasses.replace(episode, events=events), tmp_path)
    assert entries(made, 'questions')
    assert isinstance(episode, EpisodeDouble) and not any(
        isinstance(event, Proposed) for event in events)
    assert not re.search(r'AskPurpose', page(made))


def test_without_a_bag_effects_stand_in_the_step_of_their_action(tmp_path):
    def twice(line, episode):
        return {step.number: [entry.title for entry in shown(step) if entry.kind == 'questions']
                for step in view(line, episode).steps}

    line, episode = recorded(change=says('no', 'on g,r'))
    with_bag, without = twice(line, episode), twice(line, None)
    effects = {number: [title for title in titles if title.startswith('effects of ')]
               for number, titles in without.items()}
    assert any(effects.values())
    assert all(set(titles) <= set(with_bag[number]) for number, titles in effects.items())
    (first,) = [number for number, titles in effects.items() if titles][:1]
    assert view(line).steps[first].checks, 'after the action'


def test_without_a_bag_it_is_said_whether_the_goal_was_reached(tmp_path):
    line, episode = recorded()
    assert '<h3>Goal: reached</h3>' in page(view(line))
    assert '<h3>Goal</h3>' in page(view(line, episode))
    unmet = {**line, 'measures': {'solved': 0.0},
             'goal_unmet': [{'literal': 'clear g', 'last': None}]}
    text = page(view(unmet))
    assert '<h3>Goal: not reached</h3>' in text and 'What did not hold at the end' in text
