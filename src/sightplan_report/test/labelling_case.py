"""Recorded episodes for tests of labelling; their truth must not be touched."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import (
    Answer,
    AskPurpose,
    Atom,
    EpisodeSpec,
    EpisodeStarted,
    Observation,
    Observed,
    Question,
    Verdict,
)
from sightplan.queries import answered
from sightplan.records.recorded import RecordedEpisode
from sightplan_report.labelling import LabelFile
from sightplan_report.labelling import tasks as tasks_module
from sightplan_report.labelling.server import LabelServer
from sightplan_report.labelling.session import LabellingSession
from sightplan_report.labelling.tasks import collect

DOMAIN = load_domain('blocksworld')
ON, OFF, CLEAR = Atom('on', ('r', 'g')), Atom('on', ('g', 'r')), Atom('clear', ('r',))


class Forbidden:
    """A truth that nobody may touch."""

    def __getattribute__(self, name):
        raise AssertionError(f'the truth was asked for {name}')


@dataclasses.dataclass(frozen=True, eq=False)
class PictureEpisode(RecordedEpisode):
    """A recorded episode with its pictures in memory."""

    kept: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def image(self, observation):
        return self.kept.get(observation.image_id)


def picture(number: int) -> np.ndarray:
    """A picture of 40x30 pixels, another one for each number."""
    image = np.full((30, 40, 3), 60 + 25 * number, np.uint8)
    image[5:12, 3 * number:3 * number + 6] = (200, 30, 90)
    return image


IDS = [Observation(picture(number)).image_id for number in range(6)]


def asked(number, answers, purpose=AskPurpose.ENUMERATION, model='tiny'):
    """A batch about a picture; ``answers``: atom to "yes", "no" or "unparsed"."""
    questions = tuple(Question(atom, f'Is it true that {atom}?') for atom in answers)
    return answered(Observation.elsewhere(IDS[number], 1_000 + number), questions,
                 tuple(Answer(verdict=Verdict(text)) for text in answers.values()),
                 (None,) * len(questions), purpose, model=model)


def episode(*batches, name='problem_00#0', bag='bags/a', warnings=(), without=()):
    """A recorded episode; ``without``: numbers of pictures that the bag has lost."""
    spec = EpisodeSpec(f'blocksworld/simple/{name}', DOMAIN.split_problems('simple')[0],
                       'ground', 'simple')
    events = [EpisodeStarted(spec)]
    for batch in batches:
        events += [Observed(batch.observation), batch]
    return PictureEpisode(
        Path(bag), spec, DOMAIN, tuple(events), Forbidden(), tuple(warnings),
        kept={IDS[n]: picture(n) for n in range(len(IDS)) if n not in without})


def three_pictures():
    """Three pictures with two questions each."""
    return episode(*(asked(number, {ON: 'yes', CLEAR: 'no'}) for number in range(3)))


@contextlib.contextmanager
def running(server):
    """A server of a local page, while it serves in a thread of its own."""
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def serving(path, recorded, who='ann', port=0, **options):
    """A labelling server for an episode that a bag would hold; labels go to ``path``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks_module, 'read_episodes', lambda bag: iter([recorded]))
        file = LabelFile(path)
        server = LabelServer(LabellingSession(collect([recorded]), file, who, **options), port)
        try:
            with running(server):
                yield server
        finally:
            file.close()


@pytest.fixture(name='path')
def path_fixture(tmp_path):
    """File of labels of ``server``."""
    return tmp_path / 'labels.jsonl'


@pytest.fixture(name='server')
def server_fixture(path):
    """A server for three pictures with two questions each."""
    with serving(path, three_pictures()) as server:
        yield server
