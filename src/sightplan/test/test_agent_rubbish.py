"""All eight methods on a model with random weights: every answer is rubbish, nothing breaks."""

import dataclasses
import shutil

import pytest

from doubles import EventList, MemoryWorld, SearchPlanner, spec_of
from sightplan.agent import make_policy, needs_grounder, run_episode
from sightplan.domains import Domain, load_domain
from sightplan.grounding import BackendGrounder
from sightplan.metrics import EpisodeScorer, summarise
from sightplan.model import Asked, Proposed
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.vlm.api import make_backend
from tiny_models import make_tiny_vlm

PLANNING = ('plan', 'plan_cot', 'action', 'action_cot')
METHODS = (*PLANNING, 'ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')


@pytest.fixture(scope='module')
def backend(tmp_path_factory):
    folder = make_tiny_vlm(tmp_path_factory.mktemp('models') / 'tiny')
    return make_backend('transformers', {'model': str(folder), 'device': 'cpu', 'threads': 1})


@pytest.fixture(scope='module')
def domain(tmp_path_factory):
    """Blocksworld whose prompts allow short replies only, because rubbish never ends."""
    folder = tmp_path_factory.mktemp('domains') / 'blocksworld'
    shutil.copytree(load_domain('blocksworld').folder, folder,
                    ignore=shutil.ignore_patterns('problems'))
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
    assert summarise([line])['scored'] == 1 and line['model'] == backend.model
    if needs_grounder(method):
        answers = [answer for event in events.of(Asked) for answer in event.answers]
        assert len(answers) == line['questions'] >= len(world.model.atoms)
    else:
        texts = [event.proposal.text for event in events.of(Proposed)]
        assert len(texts) == ended.steps == 2 and line['invalid'] == 2
        assert world.actions == []
