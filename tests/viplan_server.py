"""A scripted server of OpenAI's protocol that answers ViPlan's questions as a real model errs.

Its worlds are the real ones, but their pictures are a code of the true state instead of a
rendering: the server reads it, and replies with the published error rates of a model
(``noisy_oracle``) to questions, and with some action to a request for a plan. It counts tokens.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import re
import threading
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

from fake_openai import FakeServer, Reply, chat
from sightplan.domains import load_domain
from sightplan.model import Action, Atom, GroundingPrompt, Observation
from sightplan.model.query import Deadline
from sightplan.queries import YesNo
from sightplan.vlm.api import make_backend

SPLITS = 'simple', 'medium', 'hard'
DOMAINS = 'blocksworld', 'household'
PICTURE_TOKENS, CHARACTERS_OF_A_TOKEN, AROUND_TOKENS = 640, 4.3, 11
_QUESTION = re.compile(r'Question: (.+)')
_CODED = '''
import dataclasses
import json
import zlib

import numpy as np

from sightplan_sim.blocksworld import world as blocksworld_world
from sightplan_sim.household import world as household_world


class Coded:
    """A real world that draws nothing; the picture is a code of the true state instead."""

    def _picture(self, episode):
        self.pictures = False
        try:
            seen = super()._picture(episode)
        finally:
            self.pictures = True
        state = [[atom.predicate, *atom.args]
                 for atom in sorted(self._read_state(episode), key=str)]
        spec = episode.spec
        code = zlib.compress(json.dumps([
            spec.id, spec.split, spec.problem.name, spec.method,
            seen.image.ravel().tolist()[:8], state]).encode())
        code = len(code).to_bytes(3, 'big') + code
        rows = -(-len(code) // 192)
        image = np.frombuffer(code.ljust(rows * 192, b'\\0'), np.uint8).reshape(rows, 64, 3)
        return dataclasses.replace(seen, image=image.copy(), depth_m=None, unlabelled=None)


class Blocksworld(Coded, blocksworld_world.BlocksworldWorld):
    pass


class Household(Coded, household_world.HouseholdWorld):
    pass


def blocksworld(**options):
    return opened(Blocksworld(blocksworld_world.Settings(pictures='none', **options)))


def household(**options):
    return opened(Household(household_world.Settings(pictures='none', **options)))


def opened(world):
    world.pictures = True
    return world
'''


def coded_worlds(folder: Path) -> Path:
    """Write a package whose worlds, on PYTHONPATH, stand in for those of both domains.

    Of equal names of plugins the first of ours is taken, by the name of its module.
    """
    info = folder / 'sightplan_coded-1.dist-info'
    info.mkdir(parents=True)
    (folder / 'sightplan_coded.py').write_text(_CODED)
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: sightplan_coded\nVersion: 1\n')
    (info / 'entry_points.txt').write_text('[sightplan.worlds]\n' + ''.join(
        f'{name} = sightplan_coded:{name}\n' for name in DOMAINS))
    return folder


class ViplanServer(FakeServer):
    """Replies with the errors of a model that ``noisy_oracle`` knows; see the module."""

    def __init__(self, model: str) -> None:
        super().__init__(self._reply)
        self._model = model
        self._eyes: dict[str, tuple[Any, Any]] = {}
        self._answering = threading.Lock()
        self._questions = {}
        self._problems = {}
        for name in DOMAINS:
            domain = load_domain(name)
            for split in SPLITS:
                for problem in domain.split_problems(split):
                    self._problems[name, split, problem.name] = problem
                    for atom in domain.model(problem).atoms:
                        self._questions[domain.question(atom).text] = domain.question(atom)

    def _reply(self, body: dict[str, Any], number: int) -> Reply:
        texts, picture = self._parts(body)
        tokens = AROUND_TOKENS + int(sum(map(len, texts)) / CHARACTERS_OF_A_TOKEN)
        if picture is None:
            return chat('Hello.', usage=(tokens, 1))
        tokens += PICTURE_TOKENS
        questions = _QUESTION.findall(texts[-1])
        reasons = any('explanation' in text for text in texts)
        with self._answering:
            text = (self._answer(questions[-1], picture, reasons) if questions
                    else self._plan(picture, '"plan"' in texts[0], reasons, number))
        if body.get('max_tokens') == 1:
            return chat('{', usage=(tokens, 1), finish='length')
        return chat(text, usage=(tokens, max(1, len(text) // 4)))

    @staticmethod
    def _parts(body: dict[str, Any]) -> tuple[list[str], Any]:
        texts, picture = [], None
        for message in body['messages']:
            content = message['content']
            parts = [{'type': 'text', 'text': content}] if isinstance(content, str) else content
            for part in parts:
                if part['type'] == 'text':
                    texts.append(part['text'])
                else:
                    data = base64.b64decode(part['image_url']['url'].partition(',')[2])
                    raw = np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).tobytes()
                    code = raw[3:3 + int.from_bytes(raw[:3], 'big')]
                    picture = json.loads(zlib.decompress(code))
        return texts, picture

    def _answer(self, question: str, picture: Any, reasons: bool) -> str:
        episode, split, _, method, seen, state = picture
        truth, eyes = self._eyes_of(f'{episode} {method}', split)
        truth.atoms = frozenset(Atom(predicate, tuple(args)) for predicate, *args in state)
        code = hashlib.sha256(json.dumps([seen, state]).encode()).digest()
        image = np.frombuffer(code[:30], np.uint8).reshape(1, 10, 3)
        query = YesNo(Observation(image, 0), self._questions[question.strip()],
                      GroundingPrompt(reasoning=reasons))
        word = eyes.ask([query], Deadline())[0].text
        return (f'<explanation>{"What the picture shows bears on this. " * 12}</explanation>\n'
                f'<answer>{word}</answer>' if reasons else word)

    def _eyes_of(self, key: str, split: str) -> tuple[Any, Any]:
        if key not in self._eyes:
            truth = SimpleNamespace(atoms=frozenset())
            truth.state = lambda stamp_ns=None: truth.atoms
            domain = load_domain(key.partition('/')[0])
            eyes = make_backend('noisy_oracle', {
                'table': self._model, 'together': domain.errors_together}, truth)
            eyes.start_episode(key, split)
            self._eyes[key] = truth, eyes
        return self._eyes[key]

    def _plan(self, picture: Any, whole: bool, reasons: bool, number: int) -> str:
        episode, split, name = picture[:3]
        domain = load_domain(episode.partition('/')[0])
        problem = self._problems[domain.name, split, name]
        model = domain.model(problem)
        rng = random.Random(number)
        actions: list[Action] = rng.sample(list(model.actions), 6 if whole else 1)
        steps = [{'action': action.name, 'parameters': dict(zip(
            domain.prompts.actions[action.name].parameters, action.args, strict=True))}
            for action in actions]
        reply: dict[str, Any] = (
            {'explanation': 'The goal needs this first. ' * 20} if reasons else {})
        reply |= {'plan': steps} if whole else steps[0]
        return json.dumps(reply)
