"""The embedded vision-language model: the folder, the packed pass, and what it sees."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
)
from sightplan.model.query import Deadline, ask_all
from sightplan.queries import Answer, YesNo, yes_no_queries
from sightplan.runs import RunSettings, resolved_backend_options
from sightplan.vlm.api import make_backend, resolved_options
from sightplan_models import _embedded_questions
from sightplan_models._embedded_network import Network
from sightplan_models._model_identity import files_hash
from sightplan_models.embedded import (
    SHIPPED,
    Backend,
    Settings,
    question_model_of_transformers,
    shipped_domains,
    shipped_folder,
)

torch = pytest.importorskip('torch')
transformers = pytest.importorskip('transformers')
from tiny_models import one_by_one  # noqa: E402

BLOCKS = shipped_folder('blocksworld')
STACKS = (('r', 'g'), (), ('b',), ('y', 'p'))
RIGHT = {
    'Is the green block on top of the red block?': True,
    'Is the red block on top of the green block?': False,
    'Is the blue block on top of the red block?': False,
    'Is the purple block on top of the purple block?': False,
    'Is the red block the topmost of its column?': False,
    'Is the green block the topmost of its column?': True,
    'Is the blue block the topmost of its column?': True,
    'Is the red block in the column labeled "c1"?': True,
    'Is the blue block in the column labeled "c3"?': True,
    'Is the blue block in the column labeled "c4"?': False,
    'Is the column labeled "c1" to the left of the column labeled "c3"?': True,
    'Is the column labeled "c3" to the left of the column labeled "c1"?': False,
    'Is the column labeled "c4" to the right of the column labeled "c2"?': True,
    'Is the column labeled "c2" to the right of the column labeled "c2"?': False,
}
WITHOUT_TORCH = """
import sys
import numpy as np
sys.modules.update(torch=None, transformers=None)
from sightplan.model import Atom, Observation, Question
from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries
from sightplan_models.embedded import Backend, Settings
queries = yes_no_queries(Observation(image=np.load(sys.argv[1])),
                         (Question(Atom('probe'), sys.argv[2]),))
print(ask_all(Backend(Settings(domain='blocksworld')), queries)[0].text)
"""
THREADS = """
import ctypes
from sightplan_models._numpy_threads import _loaded
from sightplan_models.embedded import Backend, Settings
libraries = [ctypes.CDLL(path) for path in _loaded('openblas')]
number = [getattr(library, name) for library in libraries for name in (
    'scipy_openblas_get_num_threads64_', 'openblas_get_num_threads') if hasattr(library, name)]
if number:
    found = []
    for threads in (2, 1):
        Backend(Settings(domain='blocksworld', threads=threads))
        found.append(number[0]())
    print(*found)
else:
    print('no OpenBLAS')
"""


@cache
def backend() -> Backend:
    return Backend(Settings(domain='blocksworld'))


def request(image: Any, texts: Any) -> list[YesNo]:
    return yes_no_queries(Observation(image=image), tuple(Question(Atom('probe'), text)
                                                          for text in texts))


@cache
def picture(stacks: Any = STACKS, seed: int = 3) -> Any:
    scene = pytest.importorskip('sightplan_sim.blocksworld.scene')
    names = tuple(f'c{i + 1}' for i in range(len(stacks)))
    with scene.BlocksScene(640, 480) as renderer:
        look = scene.sample_look(np.random.default_rng(seed), 1.0)
        return renderer.render(stacks, names, look).rgb


def ask(image: Any, texts: Any) -> list[Answer]:
    return ask_all(backend(), request(image, texts))


def test_the_folders_are_small_and_load_offline_with_the_auto_classes(monkeypatch: Any) -> None:
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    size = sum(path.stat().st_size for path in SHIPPED.rglob('*') if path.is_file())
    assert size <= 21 * 2**20  # boards 2, detector 3, household and locator 6 each, blocks 2.5
    model = transformers.AutoModelForImageTextToText.from_pretrained(BLOCKS)
    processor = transformers.AutoProcessor.from_pretrained(BLOCKS)
    assert isinstance(model, transformers.LlavaForConditionalGeneration)
    message = {'role': 'user', 'content': [
        {'type': 'image'}, {'type': 'text', 'text': 'Is the red block clear?'}]}
    prompt = processor.apply_chat_template([message], add_generation_prompt=True)
    inputs = processor(text=[prompt], images=[picture()], return_tensors='pt')
    word = model.generate(**inputs, max_new_tokens=1, do_sample=False)[0, -1:]
    assert processor.tokenizer.decode(word) == 'no'


def test_the_weights_are_stored_in_half_precision() -> None:
    from safetensors import safe_open
    with safe_open(str(BLOCKS / 'model.safetensors'), 'pt') as weights:
        kinds = {weights.get_slice(key).get_dtype() for key in list(weights.keys())}
    assert kinds == {'F16'}


@cache
def by_transformers() -> Any:
    return question_model_of_transformers(BLOCKS, Settings())


def gaps(some: Any, others: Any) -> list[float]:
    return [abs(one - other) for a, b in zip(some, others, strict=True)
            for one, other in ((a.p_yes, b.p_yes), (a.p_no, b.p_no))]


def test_answers_equal_those_of_transformers_one_prompt_at_a_time() -> None:
    both = request(picture(), [*RIGHT, 'Is the orange cube there?', 'Red?'])
    assert len({len(q.question.text.split()) for q in both}) > 2  # unequal lengths
    ours, theirs = ask_all(backend(), both), one_by_one(by_transformers(), both)
    assert [one.text for one in ours] == [one.text for one in theirs]
    assert max(gaps(ours, theirs)) < 1e-5
    assert backend().name == by_transformers().name
    assert backend().traits == by_transformers().traits


@pytest.mark.parametrize('text', ['Is </s> the <image> red block there?', 'Is the <answer> red?',
                                  'Is the <unk> block on top?', 'ROT ist der Block?', ' ', 'Is?'])
def test_odd_texts_are_read_as_transformers_reads_them(text: str) -> None:
    (ours,), (theirs,) = (ask_all(model, request(picture(), [text]))
                          for model in (backend(), by_transformers()))
    assert (ours.text, ours.verdict, ours.reason) == (theirs.text, theirs.verdict, theirs.reason)
    assert ours.p_yes == pytest.approx(theirs.p_yes, abs=1e-5)


def test_tokens_are_counted_as_transformers_counts_them() -> None:
    counted = []
    for model in (backend().main, by_transformers()):
        before = model.usage
        ask_all(model, request(picture(STACKS, 5), list(RIGHT)))
        ask_all(model, request(picture(STACKS, 5), list(RIGHT)[:3]))
        counted.append(model.usage - before)
    assert counted[0] == counted[1]


def test_a_shipped_model_needs_neither_torch_nor_transformers(tmp_path: Path) -> None:
    """Both take seconds to import; in a process of its own, as others have loaded them here."""
    np.save(tmp_path / 'picture.npy', picture())
    done = subprocess.run([sys.executable, '-c', WITHOUT_TORCH, str(tmp_path / 'picture.npy'),
                           next(iter(RIGHT))], capture_output=True, text=True, check=False)
    assert done.stdout == 'yes\n', done.stderr


def test_a_shifted_position_would_be_noticed(monkeypatch: Any) -> None:
    """The comparison above can fail: positions one too high give other numbers."""
    mine = Backend(Settings(domain='blocksworld'))
    right = ask_all(mine, request(picture(), RIGHT))
    rotation = Network._rotation
    monkeypatch.setattr(Network, '_rotation', lambda self, before, count: rotation(
        self, before + (before > 0), count))
    assert max(gaps(ask_all(mine, request(picture(), RIGHT)), right)) > 1e-5


def test_passes_do_not_change_answers(monkeypatch: Any) -> None:
    whole = ask(picture(), RIGHT)
    monkeypatch.setattr(_embedded_questions, '_QUESTIONS_A_PASS', 3)
    assert max(gaps(ask(picture(), RIGHT), whole)) < 1e-5


def test_words_around_questions_are_left_out() -> None:
    prompt = GroundingPrompt('ground', 'You look at a picture.', after_image='Before: no.',
                             question='Question: {question}',
                                 reasoning=True)
    around = [dataclasses.replace(query, prompt=prompt) for query in request(picture(), RIGHT)]
    assert ask_all(backend(), around) == ask(picture(), RIGHT)


def test_an_image_is_encoded_once_for_requests_in_a_row(monkeypatch: Any) -> None:
    network = backend().main._network
    encoded = []
    whole = network.encode

    def counted(*args: Any) -> Any:
        encoded.append(1)
        return whole(*args)

    monkeypatch.setattr(network, 'encode', counted)
    image = picture(STACKS[::-1])
    first, second = list(RIGHT)[:9], list(RIGHT)[5:]
    again = ask(image, first)[5:] + ask(image, second)[4:]
    assert len(encoded) == 1
    apart = ask(picture(), second) and ask(image, second)
    assert len(encoded) == 3
    for one, other in zip(again, apart, strict=True):
        assert one.p_yes == pytest.approx(other.p_yes, abs=1e-5)


def test_usage_counts_replies_and_the_tokens_read() -> None:
    before = backend().usage
    image = picture(STACKS, 4)
    ask(image, list(RIGHT)[:3])
    once = backend().usage - before
    assert once.requests == 3 and once.completion_tokens == 0
    assert 192 < once.prompt_tokens < 192 + 60
    ask(image, list(RIGHT)[:3])
    assert backend().usage.prompt_tokens - before.prompt_tokens < 192 + 120  # the image: once


def test_same_question_same_bytes_every_time() -> None:
    assert ask(picture(), RIGHT) == ask(picture(), RIGHT)


def test_probabilities_are_probabilities() -> None:
    for reply in ask(picture(), RIGHT):
        assert reply.p_yes is not None and reply.p_no is not None
        assert 0 <= reply.p_yes <= 1 and 0 <= reply.p_no <= 1
        assert 0.98 < reply.p_yes + reply.p_no <= 1 + 1e-6


def test_a_rendered_scene_is_read_right() -> None:
    replies = ask(picture(), RIGHT)
    assert [r.text for r in replies] == ['yes' if v else 'no' for v in RIGHT.values()]


@pytest.mark.parametrize('seed', range(4))
def test_fresh_scenes_are_read_right(seed: int) -> None:
    """All on and clear atoms of a random hard scene, by a reading of the stacks of our own."""
    rng = np.random.default_rng([77, seed])
    stacks: list[list[str]] = [[], [], [], []]
    for letter in rng.permutation(list('rgbypo')):
        stacks[int(rng.integers(4))].append(str(letter))
    names = dict(zip('rgbypo', ('red', 'green', 'blue', 'yellow', 'purple', 'orange'),
                     strict=True))
    expected = {}
    for stack in stacks:
        for level, letter in enumerate(stack):
            clear = level + 1 == len(stack)
            expected[f'Is the {names[letter]} block the topmost of its column?'] = clear
            for other in 'rgbypo':
                text = f'Is the {names[other]} block on top of the {names[letter]} block?'
                expected[text] = not clear and stack[level + 1] == other
    replies = ask(picture(tuple(map(tuple, stacks)), seed + 100), expected)
    wrong = [t for t, r in zip(expected, replies, strict=True)
             if r.text != ('yes' if expected[t] else 'no')]
    assert not wrong


def test_another_picture_gives_other_answers() -> None:
    mirrored = ask(picture(STACKS[::-1]), RIGHT)
    grey = ask(np.full((480, 640, 3), 150, np.uint8), RIGHT)
    seen = ask(picture(), RIGHT)
    for other in (mirrored, grey):
        assert sum(a.text != b.text for a, b in zip(other, seen, strict=True)) >= 2


@pytest.mark.parametrize('text', [
    'IS THE GREEN BLOCK ON TOP OF THE RED BLOCK', 'Is the green cube on the red cube ?',
    'is the "green" block stacked on top of the \'red\' block?',
    'Is the green block directly on top of the red block?'])
def test_small_changes_of_wording_do_not_matter(text: str) -> None:
    assert ask(picture(), [text])[0].text == 'yes'


def test_blocks_that_are_not_there_are_denied() -> None:
    image = picture((('r', 'g'), (), ('b',)))
    texts = ['Is the orange block on top of the red block?',
             'Is the yellow block the topmost of its column?',
             'Is the purple block in the column labeled "c2"?',
             'Is the blue block in the column labeled "c7"?']
    assert [r.text for r in ask(image, texts)] == ['no'] * 4


def test_the_image_size_may_differ() -> None:
    half = picture()[::2, ::2]
    assert [r.text for r in ask(half, RIGHT)] == [r.text for r in ask(picture(), RIGHT)]


def test_no_questions_no_answers() -> None:
    assert ask(picture(), []) == []


def test_name_tells_weights() -> None:
    name, _, digest = backend().name.partition('@')
    assert name == 'embedded_model/blocksworld' and len(digest) == 12
    assert int(digest, 16) >= 0


def test_name_of_the_shipped_model_is_what_results_and_pages_say() -> None:
    """Its other files come with it: one that changes answers asks for another name."""
    assert backend().name == 'embedded_model/blocksworld@af7934193125'
    assert files_hash(BLOCKS) == '68c07b86'


def test_name_of_another_folder_tells_its_other_files(tmp_path: Path) -> None:
    import shutil
    shutil.copytree(BLOCKS, tmp_path / 'm')
    copied = Backend(Settings(model_dir=str(tmp_path / 'm'))).name
    assert copied == f'm@7c81c943c886+{files_hash(BLOCKS)}'
    assert Backend(Settings(model_dir=str(BLOCKS))).name == backend().name


def test_a_shipped_model_tells_its_domain_and_another_none(tmp_path: Path) -> None:
    import shutil
    shutil.copytree(BLOCKS, tmp_path / 'm')
    for settings, domain in ((Settings(), shipped_domains()[0]),
                             (Settings(domain='blocksworld'), 'blocksworld'),
                             (Settings(model_dir=str(BLOCKS), domain='chess'), 'blocksworld'),
                             (Settings(model_dir=str(tmp_path / 'm'), domain='chess'), '')):
        assert Backend(settings).traits.domain == domain


def test_each_domain_has_weights_of_its_own() -> None:
    names = {domain: Backend(Settings(domain=domain)).name for domain in shipped_domains()}
    assert {'blocksworld', 'household'} <= set(names)
    assert len({name.partition('@')[2] for name in names.values()}) == len(names)
    assert all(name.startswith(f'embedded_model/{domain}@') for domain, name in names.items())


def test_the_domain_of_a_run_chooses_the_model() -> None:
    for domain in shipped_domains():
        for options in ({}, {'threads': 2}):
            resolved = resolved_options('embedded', options, 0, domain=load_domain(domain))
            assert resolved == {**options, 'domain': domain}
    given = resolved_options('embedded', {'domain': 'blocksworld'}, 0,
                             domain=load_domain('household'))
    assert given['domain'] == 'blocksworld'
    assert 'domain' not in resolved_options('scripted', {}, 0,
                                            domain=load_domain('household'))
    settings = RunSettings(domain='household', method='ground', backend='embedded')
    assert resolved_backend_options(settings)['domain'] == 'household'


def test_a_domain_without_weights_is_told_which_have_some() -> None:
    with pytest.raises(InputError, match='only for blocksworld, household') as caught:
        Backend(Settings(domain='chess'))
    assert "'chess'" in str(caught.value) and 'model_dir' in str(caught.value)


def test_chosen_by_name() -> None:
    made = make_backend('embedded', {'threads': 1, 'domain': 'blocksworld'})
    assert made.name == backend().name
    assert not made.traits.truth and made.traits.pixels


@pytest.mark.parametrize(('folder', 'reason'), [('nowhere', 'does not exist'), ('.', 'lacks')])
def test_unknown_model_folder_names_the_remedy(tmp_path: Path, folder: str,
                                               reason: str) -> None:
    with pytest.raises(BackendError, match=reason) as caught:
        Backend(Settings(model_dir=str(tmp_path / folder)))
    assert 'model_dir' in str(caught.value)


def test_broken_model_folder_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / 'config.json').write_text('{"model_type": "none such"}')
    (tmp_path / 'model.safetensors').write_bytes(b'')
    with pytest.raises(BackendError, match='could not be loaded') as caught:
        Backend(Settings(model_dir=str(tmp_path)))
    assert 'model_dir' in str(caught.value)


def test_missing_library_names_the_remedy(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, 'tokenizers', None)
    with pytest.raises(BackendError, match='pip install'):
        Backend(Settings())


def test_numpy_takes_as_many_threads_as_the_settings_say() -> None:
    done = subprocess.run([sys.executable, '-c', THREADS], capture_output=True, text=True,
                          check=False, env={**os.environ, 'OPENBLAS_NUM_THREADS': '2'})
    if done.stdout == 'no OpenBLAS\n':
        pytest.skip('numpy was built with another library')
    assert done.stdout == '2 1\n', done.stderr


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InputError, match='threads'):
        make_backend('embedded', {'threads': 0})


@pytest.mark.parametrize('image', [None, np.zeros((4, 4), np.uint8),
                                   np.zeros((4, 4, 3), np.float32),
                                   np.zeros((2, 2, 3), np.uint8)])
def test_unusable_images_are_refused(image: Any) -> None:
    with pytest.raises(BackendError, match='image'):
        ask(image, ['Is the red block clear?'])


def test_image_tokens_in_a_question_are_plain_text() -> None:
    asked = request(picture(), ['Is the <image> block clear?', 'Is the red block clear?'])
    for one, other in zip(ask_all(backend(), asked), one_by_one(backend(), asked),
                          strict=True):
        assert one.p_yes == pytest.approx(other.p_yes, abs=1e-5)


def test_an_impossible_deadline_is_reported() -> None:
    late = yes_no_queries(Observation(image=picture()), (Question(Atom('p'), 'Red?'),))
    with pytest.raises(DeadlineError, match='limit'):
        ask_all(backend(), late, Deadline(1e-9))


def test_a_word_that_it_does_not_know_is_a_reason_not_to_tell() -> None:
    known, unknown = ask_all(backend(), request(picture(), (
        'Is the red block the topmost of its column?',
        'Is the block named "zog" on top of the red block?')))
    assert known.verdict.says is False and known.p_yes is not None
    assert unknown == Answer.cannot_tell("it does not know 'zog'") and unknown.p_yes is None
