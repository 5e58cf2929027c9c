"""All eight methods on a model with random weights: every answer is rubbish, nothing breaks."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from PIL import Image

from doubles import EventList, MemoryWorld, SearchPlanner, spec_of
from sightplan.agent import make_policy, needs_grounder, run_episode
from sightplan.domains import Domain, load_domain
from sightplan.grounding import BackendGrounder
from sightplan.metrics import EpisodeScorer, summarise_episodes
from sightplan.model import Asked, ProposalStatus, Proposed, StopReason, Verdict
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.records import RunStore
from sightplan.runs import RunSettings, episodes, run, worlds
from sightplan.vlm.api import make_backend
from tiny_models import make_tiny_vlm

PLANNING = ('plan', 'plan_cot', 'action', 'action_cot')
METHODS = (*PLANNING, 'ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')


@pytest.fixture(scope='module')
def tiny(tmp_path_factory):
    """Settings of a backend with a random model."""
    folder = make_tiny_vlm(tmp_path_factory.mktemp('models') / 'tiny')
    return {'model': str(folder), 'device': 'cpu', 'threads': 1}


@pytest.fixture(scope='module')
def backend(tiny):
    return make_backend('transformers', tiny)


@pytest.fixture(scope='module')
def domain(tmp_path_factory):
    """Blocksworld whose prompts allow short replies only, because rubbish never ends."""
    folder = tmp_path_factory.mktemp('domains') / 'blocksworld'
    shutil.copytree(load_domain('blocksworld').folder, folder)
    (folder / 'prompts').mkdir()
    for name in (*PLANNING, 'ground_cot'):
        kind = 'planning' if name in PLANNING else 'questions'
        (folder / 'prompts' / f'{name}.yaml').write_text(
            f'kind: {kind}\nlike: [{name}]\nmax_tokens: 12\n')
    return Domain(folder)


class LargeWorld(MemoryWorld):
    """Its image is large enough for a model of transformers."""

    def observe(self):
        look = super().observe()
        return dataclasses.replace(look, image=look.image.repeat(16, 0).repeat(16, 1), _digest=[])


class Both:
    def __init__(self, *recorders):
        self.recorders = recorders

    def record(self, event):
        for recorder in self.recorders:
            recorder.record(event)


@pytest.mark.parametrize('method', METHODS)
def test_rubbish_is_counted_as_such(backend, domain, method):
    world, events = LargeWorld(domain), EventList()
    scorer = EpisodeScorer(world)
    ended = run_episode(
        spec_of(method=method, max_actions=2), make_policy(method), world,
        BackendGrounder(backend), SearchPlanner(domain), Both(events, scorer), domain,
        visual_planner=BackendVisualPlanner(backend, domain))
    assert ended.reason.scored, ended.message
    line = scorer.result()
    assert summarise_episodes([line])['scored'] == 1 and line['model'] == backend.name
    assert world.actions == []
    if needs_grounder(method):
        answers = [answer for event in events.of(Asked) for answer in event.answers]
        assert len(answers) == line['questions'] == len(world.model.atoms)
        assert {answer.verdict for answer in answers} == {Verdict.UNPARSED}
        # Nothing is known, so nothing is believed, and nothing can be planned.
        assert (ended.reason, ended.steps) == (StopReason.NO_PLAN, 0)
        # Most reasons go on until the limit of tokens.
        assert line['failure']['cause'] == ('cut_off' if method.endswith('_cot') else 'unparsable')
    else:
        proposals = [event.proposal for event in events.of(Proposed)]
        assert {proposal.status for proposal in proposals} == {ProposalStatus.UNPARSED}
        assert all(proposal.text and not proposal.actions for proposal in proposals)
        assert len(proposals) == ended.steps == 2 and line['invalid'] == 2
        assert (ended.reason, line['failure']['cause']) == (StopReason.BUDGET, 'cut_off')


@pytest.mark.parametrize(('method', 'stop', 'questions'), [
    ('plan', 'budget', 0), ('ground', 'no_plan', 56)])
def test_rubbish_about_rendered_pictures(tiny, domain, tmp_path, monkeypatch, method, stop,
                                         questions):
    """The whole way: from the settings through the world that draws to the files of the run."""
    for module in (episodes, worlds):
        monkeypatch.setattr(module, 'load_domain', lambda *_, **__: domain)
    summary = run(RunSettings(
        method=method, backend='transformers', backend_options=tiny, episodes=1, max_actions=2,
        world_options={'width': 96, 'height': 64}, out=str(tmp_path / 'run'), record=True,
        record_images=True), planner=SearchPlanner(domain))
    line, = RunStore(tmp_path / 'run').lines()
    assert (summary['scored'], summary['solved'], summary['errors']) == (1, 0, 0)
    assert (line['stop'], line['questions'], line['executed']) == (stop, questions, 0)
    assert line['failure']['cause'] == ('cut_off' if method == 'plan' else 'unparsable')
    assert line['invalid'] == len(line['unreadable']) == (2 if method == 'plan' else 0)
    assert summary['unparsed'] == questions
    # Nothing moved: all looks were the same picture, and the model was shown it.
    image, = (tmp_path / 'run' / 'images').iterdir()
    pixels = np.asarray(Image.open(image))
    assert pixels.shape == (64, 96, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 100
    replies = [json.loads(text) for text in
               (tmp_path / 'run' / 'replies.jsonl').read_text().splitlines()]
    kinds = [reply.get('query') for reply in replies]
    assert (kinds.count('yes_no'), kinds.count('text')) == (questions, line['invalid'])
