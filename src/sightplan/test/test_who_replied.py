"""Lines of results name the models that replied, not the one that happened to be loaded."""

import json

import numpy as np
import pytest

from sightplan.grounding import BackendGrounder
from sightplan.model import Observation, Usage
from sightplan.model.query import Deadline, ModelByKind, answers, part_name
from sightplan.queries import Choose, Detect, Generate, Locate, TextReply
from sightplan.runs import OpenRun, RunSettings, specify
from sightplan.vlm.api import backend_content, make_backend
from sightplan_report.results import gather
from sightplan_report.tables import make_tables

pytest.importorskip('torch')

SMALL = {'count': 1}


@pytest.fixture(scope='module')
def parts():
    """The names of what the embedded model answers with, by kind of query."""
    embedded = make_backend('embedded', {})
    return {kind: part_name(embedded, kind) for kind in (Locate, Detect, Choose)}


class Planner(ModelByKind):
    """A model that plans the same two steps for everything, in words and in marks."""

    name = 'planner@1'
    usage = Usage()

    @answers(Generate)
    def generate(self, request, deadline: Deadline):
        return TextReply(json.dumps({'coords': 'unit_xyxy', 'actions': [
            {'action': 'grasp', 'target': '1', 'bbox': [.1, .1, .2, .2]},
            {'action': 'place', 'target': '2', 'point': [.5, .5]}]}))


def models_of(folder, given=None, **settings):
    """The models that the lines of a run name; and those that summary and report name."""
    with OpenRun(RunSettings(out=str(folder), **{'backend': 'embedded', **settings}),
                 backend=given) as opened:
        opened.summarise(opened.walk())
        lines = opened.store.lines()
    assert lines and not any(line['error'] for line in lines)
    results = gather(folder)
    named = results.runs[0].exact_model
    summary = json.loads((folder / 'summary.json').read_text())
    (row,) = (row for table in make_tables(results) if table.name == 'runs' for row in table.rows)
    assert (summary['model'] or '') == (row['exact_model'] or '') == named
    return {line['model'] for line in lines}, named


@pytest.mark.parametrize(('settings', 'kind'), [
    ({'suite': 'point_it_out', 'split': 's1', 'method': 'ask', 'suite_options': SMALL}, Locate),
    ({'suite': 'point_it_out', 'split': 's2', 'method': 'votes', 'suite_options': SMALL},
     Locate),
    ({'suite': 'grounded_plan', 'split': 'short', 'method': 'grounded_plan',
      'suite_options': SMALL}, Detect),
    ({'suite': 'patheval', 'split': 'segments', 'method': 'ask', 'episodes': 2}, Choose),
    ({'suite': 'patheval', 'split': 'test', 'method': 'compare', 'episodes': 2}, Choose)])
def test_a_part_of_the_embedded_model_is_named_where_it_replied(tmp_path, parts, settings, kind):
    assert models_of(tmp_path, **settings) == ({parts[kind]}, parts[kind])


def test_a_model_that_is_recorded_is_named_too(tmp_path, parts):
    assert models_of(tmp_path, suite='point_it_out', split='s1', method='ask', record=True,
                     suite_options=SMALL) == ({parts[Locate]}, parts[Locate])


@pytest.mark.parametrize(('method', 'options', 'model'), [
    ('ask', {}, 'planner@1'),
    ('decoupled', {'grasps': 'embedded'}, 'planner@1 + {Locate}'),
    ('set_of_marks', {'marks': 'embedded'}, '{Detect} + planner@1')])
def test_all_models_are_named_that_had_a_part_in_a_reply(tmp_path, parts, method, options, model):
    named, exact = models_of(tmp_path, Planner(), suite='grounded_plan', split='short',
                             backend='noisy_oracle', method=method, method_options=options,
                             suite_options=SMALL)
    model = model.format(**{kind.__name__: name for kind, name in parts.items()})
    assert named == {model} and 'planner@1' in exact


def test_a_question_names_the_model_of_its_own_domain(tmp_path):
    with OpenRun(RunSettings(suite='predicates', split='simple', method='ask',
                             backend='embedded', suite_options=SMALL, out=str(tmp_path))) as run:
        run.walk()
        lines = run.store.lines()
    named = {line['domain']: line['model'] for line in lines}
    assert set(named) == {'blocksworld', 'household'}
    for domain, model in named.items():
        assert model.startswith(f'embedded_model/{domain}@') and ',' not in model


def test_simulated_rates_are_named_as_such(tmp_path):
    named, exact = models_of(tmp_path, suite='predicates', split='simple', method='ask',
                             backend='noisy_oracle', backend_options={'table': 'gpt-4.1'},
                             suite_options={'count': 1, 'domain': 'blocksworld'})
    assert named == {exact} and exact.startswith('noisy_oracle(gpt-4.1/plain')


def test_what_asks_no_model_names_none(tmp_path):
    assert models_of(tmp_path, suite='point_it_out', split='s1', method='random',
                     suite_options=SMALL) == ({''}, '')


def test_an_episode_names_what_told_its_things_apart(parts):
    image = np.zeros((48, 64, 3), np.uint8)
    for domain in ('tabletop', 'blocksworld'):
        grounder = BackendGrounder(make_backend('embedded', {'domain': domain}))
        assert grounder.tell_apart(Observation(image)).model == parts[Detect]


def test_a_run_depends_on_the_weights_of_what_points():
    identity = specify(RunSettings(suite='point_it_out', split='s1', method='ask',
                                   backend='embedded', suite_options=SMALL)).identity('')
    assert identity['pointing'].startswith('locator@')
    assert identity['pointing'] == backend_content('embedded', {}, Locate)
