"""Models of docs/models.md with the backend transformers, from folders as the hub has them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')

from PIL import Image  # noqa: E402

from hub_folders import FOLDERS, make_hub_folder  # noqa: E402
from sightplan.model import Atom, GroundingPrompt, Observation, Question  # noqa: E402
from sightplan.model.query import ask_all  # noqa: E402
from sightplan.queries import yes_no_queries  # noqa: E402
from sightplan_models._chat_prompts import ChatPrompts  # noqa: E402
from sightplan_models._processors import can_import, load_processor  # noqa: E402
from sightplan_models._shared_prefix import SharedPrefix, _gap  # noqa: E402
from sightplan_models.transformers import Backend, Settings  # noqa: E402
from tiny_models import one_by_one  # noqa: E402

torch.set_num_threads(1)

PROMPT = GroundingPrompt('ground', 'You look at a picture.', before_image='This is the scene.',
                         after_image='Before: the answer was no.', question='Question: {question}')
TEXTS = ('Is the red block on top of the blue block?', 'Is the red block clear?',
         ' Is the red block on top of the yellow block? ', 'does "c1" stand left of "c2"?')
CHATS = (('Be brief.', ('Look:', 1, 'and', 2, 'now.')), ('', (1, 'Only this. ')),
         ('You plan.', (' No picture', ' at all.')))
"""System texts, and texts and pictures by number."""


PROCESSORS = [name for number, name in enumerate(FOLDERS) if FOLDERS[name].processor not in {
    kind.processor for kind in list(FOLDERS.values())[:number]}]
"""A folder for each processor."""


def picture(seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 255, (60, 90, 3), dtype=np.uint8)


def page() -> list[dict[str, Any]]:
    """The models of the page, as docs/models.yaml declares them."""
    found = next(parent / 'docs' / 'models.yaml' for parent in Path(__file__).resolve().parents
                 if (parent / 'docs' / 'models.yaml').is_file())
    models: list[dict[str, Any]] = yaml.safe_load(found.read_text())
    return models


@pytest.fixture(scope='module')
def place(tmp_path_factory: Any) -> Path:
    """Where folders are made, each once."""
    return tmp_path_factory.mktemp('hub')


def processor_of(place: Path, name: str, template: str = '') -> Any:
    folder = place / f'{name}{"-other" if template else ""}'
    if not folder.is_dir():
        make_hub_folder(folder, name, template, weights=False)
    return load_processor(str(folder), local_files_only=True, trust_remote_code=False)


def messages(system: str, parts: Any) -> list[dict[str, Any]]:
    """A chat as the library's users write it."""
    content = [{'type': 'text', 'text': part} if isinstance(part, str) else
               {'type': 'image', 'image': Image.fromarray(picture(part))} for part in parts]
    said = [{'role': 'system', 'content': [{'type': 'text', 'text': system}]}] if system else []
    return [*said, {'role': 'user', 'content': content}]


def same_prompts(prompts: ChatPrompts, processor: Any) -> None:
    """Ids and pixels are those of the processor's own chat."""
    for system, parts in CHATS:
        text = prompts.render(system, [part if isinstance(part, str) else None for part in parts])
        ours = prompts.inputs(text, [Image.fromarray(picture(part)) for part in parts
                                     if not isinstance(part, str)])
        theirs = processor.apply_chat_template(
            messages(system, parts), add_generation_prompt=True, tokenize=True, return_dict=True,
            return_tensors='pt')
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert torch.equal(ours[key], value), (key, system)


def test_every_model_of_the_page_has_a_folder_here() -> None:
    types = {model['type'] for model in page() if model['type'] and 'server' not in model}
    made = {FOLDERS[name].config(FOLDERS[name].tokenizer()).model_type for name in FOLDERS}
    assert types and types <= made


@pytest.mark.parametrize('name', PROCESSORS)
def test_prompts_are_those_of_the_processors_own_chat(place: Path, name: str,
                                                      caplog: Any) -> None:
    processor = processor_of(place, name)
    assert type(processor).__name__ == FOLDERS[name].processor
    prompts = ChatPrompts('transformers', name, processor, {})
    same_prompts(prompts, processor)
    moved = 'moves all pictures ahead of the texts' in caplog.text
    assert moved != FOLDERS[name].interleaved and caplog.text.count('moves all') <= 1


@pytest.mark.parametrize('name', ['gemma3', 'mistral3'])
def test_a_template_that_begins_the_text_does_it_once(place: Path, name: str) -> None:
    processor = processor_of(place, name)
    prompts = ChatPrompts('transformers', name, processor, {})
    ids = prompts.inputs(prompts.render('', ['Hello']), [])['input_ids'][0].tolist()
    assert ids.count(processor.tokenizer.bos_token_id) == 1


def real_templates() -> dict[str, Path]:
    """Chat templates of real checkpoints that are at hand: of trl, and of a folder of one's own.

    The variable SIGHTPLAN_CHAT_TEMPLATES names a folder of NAME.jinja, as in ``FOLDERS``.
    """
    trl = importlib.util.find_spec('trl')
    places = [Path(trl.origin).parent / 'chat_templates'] if trl and trl.origin else []
    if own := os.environ.get('SIGHTPLAN_CHAT_TEMPLATES'):
        places.append(Path(own))
    files = {'qwen3_vl_moe': 'qwen3_vl'}
    return {name: path for place in places for name in FOLDERS
            if (path := place / f'{files.get(name, name)}.jinja').is_file()}


@pytest.mark.parametrize('name', PROCESSORS)
def test_prompts_by_real_chat_templates_are_those_of_the_processors_own_chat(
        place: Path, name: str) -> None:
    found = real_templates()
    if name not in found:
        pytest.skip('no chat template of a real checkpoint is at hand (pip install --no-deps trl '
                    'brings some)')
    processor = processor_of(place, name, found[name].read_text())
    same_prompts(ChatPrompts('transformers', name, processor, {}), processor)


@pytest.mark.skipif(not can_import('torchvision'), reason='no torchvision that fits torch')
@pytest.mark.parametrize('name', PROCESSORS)
def test_torchvision_prepares_pictures_where_it_fits(place: Path, name: str) -> None:
    whole = processor_of(place, name)
    half = load_processor(str(place / name), 'pil')
    ids = [ChatPrompts('transformers', name, processor, {}).inputs(
        processor.apply_chat_template(messages('', (1, 'Go.')), add_generation_prompt=True),
        [Image.fromarray(picture(1))])['input_ids'].tolist() for processor in (whole, half)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize('name', FOLDERS)
@pytest.mark.slow
def test_a_folder_answers_as_if_asked_one_by_one(tmp_path: Path, name: str) -> None:
    """And so does each mechanism that may share its prompt, where a shift by one is noticed."""
    folder = make_hub_folder(tmp_path / name, name)
    model = Backend(Settings(str(folder), device='cpu', offline=True)).chat
    assert model.mechanism == 'packed' and model._apart
    asked = yes_no_queries(Observation(picture()), tuple(
        Question(Atom('p'), text) for text in TEXTS), PROMPT)
    alone = one_by_one(model, asked)
    for shared, single in zip(ask_all(model, asked), alone, strict=True):
        assert shared.text == single.text and 1e-4 < single.p_yes < 0.5
        assert shared.p_yes == pytest.approx(single.p_yes, abs=1e-5, rel=1e-4)
        assert shared.p_no == pytest.approx(single.p_no, abs=1e-5, rel=1e-4)
    reasoned = [replace(query, prompt=replace(PROMPT, reasoning=True, max_tokens=6))
                for query in asked[:2]]
    assert ask_all(model, reasoned) == one_by_one(model, reasoned)
    inputs = model._inputs(model._prompts.render('', [None, 'Go.']), [model._picture(picture())])
    network = model._engine._model
    suffixes = [(5, 9, 11, 20 + i, *range(30, 30 + i)) for i in range(6)]
    whole = SharedPrefix(network)
    plain = whole._one_by_one([whole.joined(inputs, suffix) for suffix in suffixes])
    for mechanism in ('packed', 'lazy', 'expand'):
        engine = SharedPrefix(network, mechanism, row_tokens=16, pass_tokens=32)
        prefix = engine.encode(inputs)
        assert _gap(engine._all_logits(prefix, suffixes), plain) < 1e-4, mechanism
        moved = replace(prefix, shift=prefix.shift + 1)
        assert _gap(engine._all_logits(moved, suffixes), plain) > 1e-3, mechanism


LOAD_ALL = '''
import json, sys
from sightplan.vlm.api import make_backend
from sightplan_models._processors import load_processor
names = {}
for folder in sys.argv[2:]:
    try:
        processor = load_processor(folder, local_files_only=True)
        names[folder] = type(processor.image_processor).__name__
    except Exception as error:
        names[folder] = f"{type(error).__name__}: {error}"
names["model"] = make_backend("transformers", {"model": sys.argv[1], "device": "cpu"}).name
names["embedded"] = make_backend("embedded", {}).name
print(json.dumps(names))
'''


@pytest.mark.slow
def test_all_processors_load_beside_a_torchvision_that_does_not_fit(
        tmp_path: Path, place: Path) -> None:
    """One built for another torch is installed, and fails when it is imported."""
    (tmp_path / 'torchvision').mkdir()
    (tmp_path / 'torchvision' / '__init__.py').write_text(
        "raise RuntimeError('operator torchvision::nms does not exist')")
    (tmp_path / 'torchvision-0.99.0.dist-info').mkdir()
    (tmp_path / 'torchvision-0.99.0.dist-info' / 'METADATA').write_text(
        'Metadata-Version: 2.1\nName: torchvision\nVersion: 0.99.0\n')
    folders = [str(make_hub_folder(place / name, name, weights=False)) for name in PROCESSORS]
    model = make_hub_folder(tmp_path / 'model', 'qwen2_5_vl')
    done = subprocess.run(
        [sys.executable, '-c', LOAD_ALL, str(model), *folders], capture_output=True, text=True,
        env={**os.environ, 'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'},
        check=False)
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout.splitlines()[-1])
    assert all(names[folder].endswith('Pil') for folder in folders), names
    assert done.stderr.count('torchvision::nms does not exist') == 1, 'it is said once'
