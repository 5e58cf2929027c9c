"""Sharing the encoded prompt between questions, on random models of real architectures."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

torch = pytest.importorskip('torch')
pytest.importorskip('transformers')

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import tiny_models  # noqa: E402
from sightplan.model import BackendError, DeadlineError  # noqa: E402
from sightplan_models import _shared_prefix as engine_module  # noqa: E402
from sightplan_models._shared_prefix import SharedPrefix  # noqa: E402
from sightplan_models._shared_prefix_trees import tree_of  # noqa: E402
from tiny_models import ARCHITECTURES, ATTENTION_ONLY, HYBRIDS, VOCABULARY, Tiny, words  # noqa: E402

torch.set_num_threads(1)

TOLERANCE = 1e-4
"""Of the logits' spread, root mean square; one position too far gives 1e-2 at the least."""

YES, NO = (5, 6), (7,)


def suffixes(count: int = 13) -> list[tuple[int, ...]]:
    """Questions of unlike length; some begin alike, one is asked twice, one begins another."""
    stem = words(3, 9)
    made = [tuple((stem if i % 3 else []) + words(6 + (i * 5) % 11, 100 + i))
            for i in range(count - 2)]
    return [*made, made[2], made[-1][:5]]


@cache
def tiny(name: str) -> Tiny:
    try:
        return {**ARCHITECTURES, 'paligemma': tiny_models.paligemma}[name]()
    except AttributeError as error:
        if 'module transformers has no attribute' not in str(error):
            raise
        pytest.skip(f'this transformers is older than {name}')


@cache
def reference(name: str) -> Any:
    engine = SharedPrefix(tiny(name).model)
    return engine._one_by_one([engine.joined(tiny(name).inputs, s) for s in suffixes()])


def gap(got: Any, name: str) -> float:
    return engine_module._gap(got, reference(name))


FAST = ('qwen2_5_vl', 'gemma3', 'llava', 'lfm2_vl')
"""Architectures for the fast part of the tests: positions of its own, sliding windows and token
types, neither, and layers that are no attention. The other ones are tested in the slow part."""


def cases(pairs: Iterable[tuple[str, ...]]) -> list[Any]:
    """Parameters that begin with an architecture; those of the other architectures are slow."""
    return [pytest.param(*pair, marks=[] if pair[0] in FAST else [pytest.mark.slow])
            for pair in pairs]


CASES = cases([*((name, mechanism) for name in ATTENTION_ONLY for mechanism in ('packed', 'lazy')),
               *((name, 'expand') for name in ARCHITECTURES)])


@pytest.mark.parametrize(('name', 'mechanism'), CASES)
def test_shared_equals_one_prompt_at_a_time(name: str, mechanism: str) -> None:
    engine = SharedPrefix(tiny(name).model, mechanism, row_tokens=64, pass_tokens=128)
    prefix = engine.encode(tiny(name).inputs)
    assert gap(engine._all_logits(prefix, suffixes()), name) < TOLERANCE
    moved = replace(prefix, shift=prefix.shift + 1)
    assert gap(engine._all_logits(moved, suffixes()), name) > 20 * TOLERANCE


@pytest.mark.parametrize('name', cases((name,) for name in ARCHITECTURES))
def test_the_choice_is_the_fastest_that_is_right(name: str) -> None:
    engine = SharedPrefix(tiny(name).model)
    expected = 'expand' if name in HYBRIDS else 'packed'
    assert engine.choose(tiny(name).inputs, suffixes()[:2]) == expected
    assert engine.mechanism == expected and engine.reason == ''


def test_a_model_whose_image_attends_to_the_question_is_asked_plainly(caplog: Any) -> None:
    engine = SharedPrefix(tiny('paligemma').model)
    assert engine.choose(tiny('paligemma').inputs, suffixes()[:2]) == 'plain'
    assert 'image attend to the question' in engine.reason
    assert 'PaliGemma' in caplog.text and 'cannot share' in caplog.text
    prefix = engine.encode(tiny('paligemma').inputs)
    assert gap(engine._all_logits(prefix, suffixes()), 'paligemma') < TOLERANCE
    packed = SharedPrefix(tiny('paligemma').model, 'packed')
    shared = packed._all_logits(packed.encode(tiny('paligemma').inputs), suffixes())
    assert gap(shared, 'paligemma') > 20 * TOLERANCE  # the check was needed
    with pytest.raises(BackendError, match='mechanism auto'):
        packed.choose(tiny('paligemma').inputs, suffixes()[:2])


def test_wrong_numbers_are_noticed_and_the_next_mechanism_taken(monkeypatch: Any) -> None:
    right = SharedPrefix._mask

    def leaky(self: Any, length: int, query: Any, key: Any, seen: Any) -> Any:
        return right(self, length, query, key, torch.ones_like(seen))

    monkeypatch.setattr(SharedPrefix, '_mask', leaky)
    engine = SharedPrefix(tiny('llava').model)
    assert engine.choose(tiny('llava').inputs, suffixes()[:2]) == 'lazy'
    assert 'packed gives other logits' in engine.reason


def test_a_mechanism_that_crashes_is_passed_over(monkeypatch: Any) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ValueError('masks of four dimensions are not for me')

    monkeypatch.setattr(SharedPrefix, '_packed', broken)
    monkeypatch.setattr(SharedPrefix, '_start', broken)
    engine = SharedPrefix(tiny('llava').model)
    assert engine.choose(tiny('llava').inputs, suffixes()[:2]) == 'plain'
    assert engine.reason.count('four dimensions') == 3


@pytest.mark.parametrize('name', ['gemma3', 'aya_vision'])
def test_sliding_windows_matter_here(name: str) -> None:
    """The windows of these models are shorter than their prompts, so the masks are tested."""
    assert len(tiny(name).ids) > tiny(name).model.config.get_text_config().sliding_window


def test_a_window_that_the_configuration_leaves_open() -> None:
    """A window without kinds of layers may or may not be in use: within it packed, else lazy."""
    small = tiny_models.mistral3(window=40)
    engine = SharedPrefix(small.model, 'packed')
    assert not engine._mask_is_sure(engine.encode(small.inputs), suffixes())
    plain = engine._one_by_one([engine.joined(small.inputs, s) for s in suffixes()])
    shared = engine._all_logits(engine.encode(small.inputs), suffixes())
    assert engine_module._gap(shared, plain) < TOLERANCE
    wide = tiny_models.mistral3(window=400)
    engine = SharedPrefix(wide.model, 'packed')
    assert engine._mask_is_sure(engine.encode(wide.inputs), suffixes())


def test_images_of_unlike_positions_do_not_disturb_each_other() -> None:
    """Position offsets of one image must not leak into the next prompt."""
    engine = SharedPrefix(tiny('qwen2_5_vl').model, 'packed')
    first = engine.encode(tiny('qwen2_5_vl').inputs)
    ids = torch.tensor([words(20, 5)])
    text = engine.encode({'input_ids': ids, 'attention_mask': torch.ones_like(ids)})
    assert int(first.shift) < 0 and int(text.shift) == 0
    assert gap(engine._all_logits(first, suffixes()), 'qwen2_5_vl') < TOLERANCE


def test_text_after_the_image_may_be_encoded_with_it() -> None:
    engine = SharedPrefix(tiny('gemma3').model, 'packed')
    common = tuple(words(4, 50))
    prefix = engine.encode(tiny('gemma3').inputs, common)
    whole = [engine.joined(tiny('gemma3').inputs, common + s) for s in suffixes()]
    assert prefix.inputs['input_ids'][0].tolist() == [*tiny('gemma3').ids, *common]
    assert engine_module._gap(engine._all_logits(prefix, suffixes()),
                              engine._one_by_one(whole)) < TOLERANCE


def test_common_beginnings_are_run_once(monkeypatch: Any) -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed')
    widths = []
    whole = engine._model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        widths.append(kwargs['input_ids'].numel())
        return whole(*args, **kwargs)

    prefix = engine.encode(tiny('llava').inputs)
    monkeypatch.setattr(engine._model, 'forward', counted)
    stem = tuple(words(10, 1))
    engine.score(prefix, [(*stem, i) for i in range(20)])
    assert widths == [10 + 20]


def test_a_tree_knows_ancestors() -> None:
    tree = tree_of([(1, 2), (1, 2, 3), (1, 4), (1, 4), (5,)])
    assert tree.ids == [1, 2, 3, 4, 5]
    assert tree.depth == [0, 1, 2, 1, 0]
    assert tree.end == [4, 3, 3, 4, 5]
    assert tree.last == [1, 2, 3, 3, 4]


def test_scores_are_sums_over_the_whole_vocabulary() -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed')
    scores = engine.score(engine.encode(tiny('llava').inputs), suffixes(), (YES, NO))
    fractions = reference('llava').softmax(-1)
    assert scores.masses[:, 0] == pytest.approx(fractions[:, list(YES)].sum(-1).numpy(), abs=1e-5)
    assert scores.masses[:, 1] == pytest.approx(fractions[:, list(NO)].sum(-1).numpy(), abs=1e-5)
    assert list(scores.top) == fractions.argmax(-1).tolist()


class Allocations(TorchDispatchMode):  # type: ignore[misc]
    """Bytes of the tensors made within it that are alive at once."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = self._now = 0
        self._alive: set[int] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self._alive:
                    self._alive.add(storage._cdata)
                    self._now += storage.nbytes()
                    weakref.finalize(storage, self._gone, storage._cdata, storage.nbytes())
                    self.peak = max(self.peak, self._now)
        return made

    def _gone(self, key: int, size: int) -> None:
        self._alive.discard(key)
        self._now -= size


@cache
def talkative() -> Tiny:
    """A model of many words: logits take most of its memory."""
    return tiny_models.llava(vocab_size=30_000)


def within(megabytes: float, mechanism: str, act: Any) -> tuple[Any, int]:
    """What ``act`` gives under a bound, and its passes; what it allocates is looked at."""
    engine = SharedPrefix(talkative().model, mechanism, megabytes / 1024, 512, 4096)
    prefix = engine.encode(talkative().inputs)
    whole, passes = engine._run, []
    engine._run = lambda *args, **more: passes.append(1) or whole(*args, **more)
    with Allocations() as made:
        result = act(engine, prefix)
    assert made.peak <= megabytes * 2**20
    return result, len(passes)


MANY = [tuple(words(6 + (i * 7) % 40, 100 + i)) for i in range(60)]
"""Questions of 40 lengths."""


@pytest.mark.parametrize('head', ['known', 'hidden'])
@pytest.mark.parametrize('mechanism', ['packed', 'lazy', 'expand'])
@pytest.mark.slow
def test_memory_stays_within_its_setting(monkeypatch: Any, mechanism: str, head: str) -> None:
    """Whatever a pass allocates; a smaller bound makes more passes and the same numbers."""
    if head == 'hidden':
        monkeypatch.setattr(talkative().model, 'get_output_embeddings', lambda: None)
    low, high = (10.0, 60.0) if head == 'known' else (40.0, 1000.0)

    def score(engine: Any, prefix: Any) -> Any:
        return engine.score(prefix, MANY, (YES, NO)).masses

    def write(engine: Any, prefix: Any) -> Any:
        return [text.tokens for text in engine.decode(prefix, MANY, 3, set(), (YES, NO))]

    (few, passes), (many, more) = within(high, mechanism, score), within(low, mechanism, score)
    assert passes < more and many == pytest.approx(few, abs=1e-6)
    (few, passes), (many, more) = within(high, mechanism, write), within(low, mechanism, write)
    assert passes < more and many == few


def test_a_question_is_asked_even_if_it_exceeds_the_bound() -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed', memory_gb=1e-9)
    prefix = engine.encode(tiny('llava').inputs)
    assert gap(engine._all_logits(prefix, suffixes()), 'llava') < TOLERANCE


@pytest.mark.parametrize('mechanism', ['packed', 'lazy'])
def test_out_of_memory_halves_the_pass_once(monkeypatch: Any, mechanism: str) -> None:
    engine = SharedPrefix(tiny('llava').model, mechanism, remedy='lower it')
    prefix = engine.encode(tiny('llava').inputs)
    name = '_packed' if mechanism == 'packed' else '_padded'
    whole, limit = getattr(SharedPrefix, name), 7
    sizes = []

    def scarce(self: Any, prefix: Any, suffixes: Any, job: Any) -> Any:
        sizes.append(sum(map(len, job)))
        if sum(map(len, job)) > limit:
            raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 3 GiB')
        return whole(self, prefix, suffixes, job)

    monkeypatch.setattr(SharedPrefix, name, scarce)
    assert gap(engine._all_logits(prefix, suffixes()), 'llava') < TOLERANCE
    assert sizes == [13, 7, 6]
    limit = 3
    with pytest.raises(BackendError, match=r'7 questions at once.*3 GiB.*lower it'):
        engine.score(prefix, suffixes())


def test_deadlines_are_looked_at_between_passes() -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed', memory_gb=1e-9)
    prefix = engine.encode(tiny('llava').inputs)
    parts = engine.logits(prefix, suffixes(), time.monotonic() + 1000.0)
    next(parts)
    with pytest.raises(DeadlineError, match='0 of 13'):
        next(engine.logits(prefix, suffixes(), time.monotonic() - 1.0))
    for run in (engine.decode, SharedPrefix(tiny('llava').model, 'plain').decode):
        with pytest.raises(DeadlineError):
            run(prefix, suffixes(), 5, {1}, deadline=time.monotonic() - 1.0)


def test_what_was_scored_before_a_deadline_is_handed_over(monkeypatch: Any) -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed', memory_gb=1e-9)
    prefix = engine.encode(tiny('llava').inputs)
    groups = [(5, 6), (7,)]
    whole = engine.score(prefix, suffixes(), groups)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(engine_module.time, 'monotonic', clock)
    with pytest.raises(DeadlineError) as caught:
        engine.score(prefix, suffixes(), groups, deadline=5.0)
    partial = caught.value.partial
    ready = [row for row, one in enumerate(partial) if one is not None]
    assert len(partial) == 13 and 0 < len(ready) < 13
    for row in ready:
        assert partial[row].top == (whole.top[row],)
        assert partial[row].masses[0] == pytest.approx(whole.masses[row])


def test_a_deadline_ends_a_text_in_the_middle(monkeypatch: Any) -> None:
    engine = SharedPrefix(tiny('llava').model)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(engine_module.time, 'monotonic', clock)
    with pytest.raises(DeadlineError):
        engine.generate(tiny('llava').inputs, 400, set(), deadline=10.0)
    assert now[0] < 20.0  # and not after 400 tokens
    prefix = engine.encode(tiny('llava').inputs)
    with pytest.raises(DeadlineError):
        engine.decode(prefix, suffixes(), 400, set(), deadline=now[0] + 10.0)
    assert now[0] < 40.0


LIMIT = 8


@cache
def written(name: str) -> tuple[list[list[int]], set[int]]:
    """Texts of the model's own ``generate``, one prompt at a time, and tokens that end them."""
    engine = SharedPrefix(tiny(name).model)
    texts = []
    for suffix in suffixes(7):
        whole = engine.joined(tiny(name).inputs, suffix)
        engine._forget_positions()
        ids = engine._model.generate(**whole, max_new_tokens=LIMIT, do_sample=False,
                                     eos_token_id=VOCABULARY, pad_token_id=0)
        texts.append(ids[0, whole['input_ids'].shape[1]:].tolist())
    stop = {texts[0][2], texts[1][5]}
    ends = [next((i for i, token in enumerate(text) if token in stop), LIMIT) for text in texts]
    return [text[:end + 1] for text, end in zip(texts, ends, strict=True)], stop


@pytest.mark.parametrize(('name', 'mechanism'), [
    *cases([*((name, 'packed') for name in ATTENTION_ONLY), ('qwen3_vl', 'lazy'),
            ('gemma3', 'lazy'), ('qwen3_5', 'expand'), ('llava', 'plain'),
            ('paligemma', 'plain')]),
    pytest.param('lfm2_vl', 'expand', marks=pytest.mark.slow)])
def test_texts_written_together_equal_those_written_alone(name: str, mechanism: str) -> None:
    engine = SharedPrefix(tiny(name).model, mechanism)
    prefix = engine.encode(tiny(name).inputs)
    alone, stop = written(name)
    texts = engine.decode(prefix, suffixes(7), LIMIT, stop)
    assert [list(text.tokens) for text in texts] == alone
    assert len({len(text) for text in alone}) > 1
    assert all(text.finished == (text.tokens[-1] in stop) for text in texts)


@cache
def windowed(window: int | None) -> tuple[Tiny, list[tuple[int, ...]]]:
    """A model whose configuration names a window, and its texts, one prompt at a time."""
    small = tiny_models.mistral3(window=window)
    engine = SharedPrefix(small.model, 'plain')
    return small, [text.tokens for text in engine.decode(
        engine.encode(small.inputs), suffixes(5), LIMIT, set())]


@pytest.mark.parametrize(('mechanism', 'window'), [
    ('packed', 40), ('lazy', 40), ('expand', 40),
    pytest.param('packed', None, marks=pytest.mark.slow),
    pytest.param('packed', 400, marks=pytest.mark.slow)])
def test_texts_within_a_window_that_the_configuration_leaves_open(mechanism: str,
                                                                  window: int | None) -> None:
    """Gaps after short questions must not count as tokens of the window."""
    small, alone = windowed(window)
    engine = SharedPrefix(small.model, mechanism)
    texts = engine.decode(engine.encode(small.inputs), suffixes(5), LIMIT, set())
    assert [text.tokens for text in texts] == alone


def test_texts_of_a_shifted_prompt_differ() -> None:
    """The comparison above can fail."""
    engine = SharedPrefix(tiny('qwen2_5_vl').model, 'packed')
    prefix = engine.encode(tiny('qwen2_5_vl').inputs)
    alone, stop = written('qwen2_5_vl')
    moved = engine.decode(replace(prefix, shift=prefix.shift + 1), suffixes(7), LIMIT, stop)
    assert [list(text.tokens) for text in moved] != alone


@pytest.mark.parametrize('mechanism', ['packed', 'plain'])
def test_probabilities_stand_beside_each_token(mechanism: str) -> None:
    engine = SharedPrefix(tiny('llava').model, mechanism)
    prefix = engine.encode(tiny('llava').inputs)
    suffix = suffixes()[0]
    text, = engine.decode(prefix, [suffix], 6, set(), (YES, NO))
    assert len(text.masses) == len(text.tokens) == 6 and not text.finished
    for place, (yes, no) in enumerate(text.masses):
        whole = engine.joined(prefix.inputs, suffix + text.tokens[:place])
        fractions = engine._one_by_one([whole])[0].softmax(-1)
        assert yes == pytest.approx(float(fractions[list(YES)].sum()), abs=1e-5)
        assert no == pytest.approx(float(fractions[list(NO)].sum()), abs=1e-5)


@pytest.mark.parametrize('mechanism', ['packed', 'plain'])
def test_a_text_ends_where_it_is_told_to(mechanism: str) -> None:
    engine = SharedPrefix(tiny('llava').model, mechanism)
    prefix = engine.encode(tiny('llava').inputs)
    texts = engine.decode(prefix, suffixes(5), 9, set(), done=lambda tokens: len(tokens) == 4)
    assert {(len(text.tokens), text.finished) for text in texts} == {(4, True)}


@pytest.mark.parametrize('mechanism', ['packed', 'lazy', 'expand'])
def test_texts_are_written_in_batches_that_fit(monkeypatch: Any, mechanism: str) -> None:
    seen = []
    whole = SharedPrefix._start

    def counted(self: Any, prefix: Any, suffixes: Any, keep: bool, explicit: bool) -> Any:
        seen.append(len(suffixes))
        return whole(self, prefix, suffixes, keep, explicit)

    monkeypatch.setattr(SharedPrefix, '_start', counted)
    texts = []
    for megabytes in (0.5, 20.0):
        engine = SharedPrefix(tiny('llava').model, mechanism, memory_gb=megabytes / 1024)
        prefix = engine.encode(tiny('llava').inputs)
        texts.append([text.tokens for text in engine.decode(prefix, suffixes(), 8, {1})])
        if megabytes == 0.5:
            assert len(seen) > 1
            seen.clear()
    assert seen == [13]
    assert texts[0] == texts[1]


def test_out_of_memory_halves_the_batch_once(monkeypatch: Any) -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed', remedy='lower it')
    prefix = engine.encode(tiny('llava').inputs)
    whole, limit = SharedPrefix._start, 7

    def scarce(self: Any, prefix: Any, suffixes: Any, keep: bool, explicit: bool) -> Any:
        if len(suffixes) > limit:
            raise torch.OutOfMemoryError('CUDA out of memory')
        return whole(self, prefix, suffixes, keep, explicit)

    plain = [text.tokens for text in engine.decode(prefix, suffixes(), 8, {1})]
    monkeypatch.setattr(SharedPrefix, '_start', scarce)
    assert [text.tokens for text in engine.decode(prefix, suffixes(), 8, {1})] == plain
    limit = 3
    with pytest.raises(BackendError, match='lower it'):
        engine.decode(prefix, suffixes(), 8, {1})


def test_models_that_give_all_logits_are_cut_here(monkeypatch: Any) -> None:
    """Program code that comes with a model may not know ``logits_to_keep``."""
    small = tiny('llava')

    def forward(input_ids: Any, attention_mask: Any = None, position_ids: Any = None,
                past_key_values: Any = None, pixel_values: Any = None,
                use_cache: bool = True) -> Any:
        return type(small.model).forward(
            small.model, input_ids=input_ids, attention_mask=attention_mask,
            position_ids=position_ids, past_key_values=past_key_values,
            pixel_values=pixel_values, use_cache=use_cache)

    expected = reference('llava')
    monkeypatch.setattr(small.model, 'forward', forward)
    for mechanism in ('packed', 'lazy', 'expand', 'plain'):
        engine = SharedPrefix(small.model, mechanism)
        prefix = engine.encode(small.inputs)
        assert engine_module._gap(engine._all_logits(prefix, suffixes()), expected) < TOLERANCE


class Unused(torch.nn.Module):  # type: ignore[misc]
    """Stands for an output layer whose weights are used, but not by calling it."""


@pytest.mark.parametrize('kind', ['none', 'unused', 'counted'])
def test_models_whose_output_layer_cannot_be_told_what_to_make(monkeypatch: Any,
                                                               kind: str) -> None:
    small = tiny('llava')
    expected, (texts, stop) = reference('llava'), written('llava')  # before the model is changed
    head: Any = {'none': None, 'unused': Unused(), 'counted': small.model.lm_head}[kind]
    monkeypatch.setattr(small.model, 'get_output_embeddings', lambda: head)
    if kind == 'counted':
        def counting(*args: Any, **kwargs: Any) -> Any:
            reply = type(small.model).forward(small.model, *args, **kwargs)
            if reply.logits.shape[1] != kwargs['input_ids'].shape[1]:
                raise IndexError('as many logits as tokens are expected')
            return reply

        monkeypatch.setattr(small.model, 'forward', counting)
    engine = SharedPrefix(small.model)
    prefix = engine.encode(small.inputs)
    assert engine._head is None and not small.model.lm_head._forward_pre_hooks
    cost = engine.pass_bytes(1, 100, prefix.length, 1)
    assert cost > SharedPrefix(tiny('gemma3').model).pass_bytes(1, 100, prefix.length, 1)
    for mechanism in ('packed', 'lazy', 'expand'):
        engine._mechanism = mechanism
        assert engine_module._gap(engine._all_logits(prefix, suffixes()), expected) < TOLERANCE
    assert [list(text.tokens) for text in engine.decode(prefix, suffixes(7), LIMIT, stop)] == texts


def test_an_empty_question_is_a_mistake_of_the_caller() -> None:
    engine = SharedPrefix(tiny('llava').model, 'packed')
    with pytest.raises(ValueError, match='one token'):
        engine.score(engine.encode(tiny('llava').inputs), [()])


def half(name: str) -> Tiny:
    """A model of its own, in bf16."""
    try:
        small = {**ARCHITECTURES, 'paligemma': tiny_models.paligemma}[name]()
    except AttributeError as error:
        pytest.skip(str(error))
    small.model.to(torch.bfloat16)
    return small


@pytest.mark.parametrize('name', [*ATTENTION_ONLY, 'paligemma'])
@pytest.mark.slow
def test_half_precision_hides_rounding_but_no_mistake(monkeypatch: Any, name: str) -> None:
    small = half(name)
    engine = SharedPrefix(small.model)
    expected = 'plain' if name == 'paligemma' else 'packed'
    assert engine.choose(small.inputs, suffixes()[:2]) == expected, engine.reason
    encode, mask = SharedPrefix.encode, SharedPrefix._mask

    def moved(self: Any, inputs: Any, more: Any = (), by: int = 0) -> Any:
        prefix = encode(self, inputs, more)
        return replace(prefix, shift=prefix.shift + by)

    def leaky(self: Any, length: int, query: Any, key: Any, seen: Any) -> Any:
        return mask(self, length, query, key, torch.ones_like(seen))

    for by in (1, -1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(SharedPrefix, 'encode',
                          lambda *args, by=by, **more: moved(*args, **more, by=by))
            assert SharedPrefix(small.model).choose(small.inputs, suffixes()[:2]) == 'plain'
    monkeypatch.setattr(SharedPrefix, '_mask', leaky)
    assert SharedPrefix(small.model).choose(small.inputs, suffixes()[:2]) != 'packed'


@pytest.mark.parametrize('theta', [1e4, 1e30])
def test_models_to_which_positions_hardly_matter_share_their_prompt_too(theta: float) -> None:
    """There a question that is moved gives the same numbers, up to rounding."""
    small = tiny_models.llava(rope_parameters={'rope_type': 'default', 'rope_theta': theta})
    for rotary in [m for m in small.model.modules() if hasattr(m, 'inv_freq')]:
        rotary.inv_freq[:1] = 0.0 if theta > 1e4 else rotary.inv_freq[:1]
    small.model.to(torch.bfloat16)
    engine = SharedPrefix(small.model, 'packed')
    prefix = engine.encode(small.inputs)
    here = engine._all_logits(prefix, suffixes()[:2])
    there = engine._all_logits(replace(prefix, shift=prefix.shift + 1), suffixes()[:2])
    assert (engine_module._gap(there, here) > 0.02) == (theta == 1e4)
    assert engine.choose(small.inputs, suffixes()[:2]) == 'packed'
