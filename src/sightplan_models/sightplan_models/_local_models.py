"""Models of transformers on this machine: loading, chat prompts, and readings made to replies.

:func:`load` reads a folder or finds a name; a :class:`LocalModel` knows queries and replies and
leaves the arithmetic to ``_shared_prefix``. Nothing here depends on a model's family: whatever the
Auto classes load is used through its processor and its chat template.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import math
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    BARE,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Usage,
    param,
)
from sightplan.model.json_text import load_json
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Generate, TextReply, YesNo, YesNoReply
from sightplan.queries.choose import (
    LETTERS,
    ChoiceReply,
    Choose,
    lettered,
    read_letter,
)
from sightplan.queries.coordinates import Size
from sightplan.queries.pointing import AXIS_TICKS, CONVENTIONS, DEFAULT_FAMILY
from sightplan.vlm.replies import answer_place, begins_unknown, is_answered

_LOG = logging.getLogger(__name__)
_SENTINEL = 'QUESTION-GOES-HERE'
_PROBES = ('Is the red block the topmost of its column?',
           'does "c1" stand to the left of the column labeled "c2"?')
_OPEN, _CLOSE = '<answer>', '</answer>'
_UNKNOWN = 'Unknown'
_TAIL_TOKENS = 16
"""Number of last tokens that are searched for the closing tag; each holds at least a character."""
_LEAST_PX = 16
_WHOLE_FILE = 256 * 2**20
_SAMPLE, _SAMPLES = 2**20, 64
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
             NotImplementedError, AssertionError)
"""Exceptions that libraries raise when a model or processor is unfit."""
_IMPORT_FAILURES = (ImportError, OSError, RuntimeError, AttributeError)
"""Exceptions of importing a library that is missing or does not fit the others."""
_FIRST_PIXELS = (480, 640, 3)
_UNLIKELY = 1e-3
"""Total probability of yes and no below which a model did not mean to say either."""
_OPENED = re.compile(r'<think>\s*\Z', re.IGNORECASE)
_OPENED_SOMEHOW = re.compile(
    r'[<\[\u25c1]\|?(?:begin_of_|start_)?(?:think|thinking|thought|reasoning)\|?[>\]\u25b7]\s*\Z',
    re.IGNORECASE)
_SPECIAL_LETTERS = 3
"""Shorter special tokens (a "!" that fills up) are words, too."""
_DECIDING = ('config.json', 'generation_config.json', '*processor_config.json', 'tokenizer*',
             'vocab.*', 'merges.txt', '*.tiktoken', 'special_tokens_map.json',
             'added_tokens.json', 'chat_template*', 'additional_chat_templates/*', '*.py')
"""Files of a model folder, beside its weights, on which answers depend."""
_OURS = frozenset({'conversation', 'chat_template', 'add_generation_prompt', 'tokenize',
                   'continue_final_message', 'return_dict', 'return_tensors'})


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of loading and running a local model."""

    model: str = param('', 'The model: its folder, or its hub name such as '
                       'Qwen/Qwen2.5-VL-7B-Instruct (needed)')
    revision: str = param('', 'Branch, tag or commit of a hub name; empty: the newest')
    device: str = param('auto', 'auto (GPUs if there are any; several with accelerate), cuda, '
                        'cuda:N or cpu')
    dtype: str = param('auto', "Precision; auto: the checkpoint's on a GPU, float32 on a CPU",
                       choices=('auto', 'bfloat16', 'float16', 'float32'))
    attention: str = param('auto', 'Implementation of attention; auto: that of transformers',
                           choices=('auto', 'sdpa', 'flash_attention_2', 'eager'))
    quantisation: str = param('none', 'Precision of stored weights, by bitsandbytes on a GPU',
                              choices=('none', '8bit', '4bit'))
    trust_remote_code: bool = param(False, 'Run program code that comes with the model; only for '
                                    'models you trust')
    offline: bool = param(False, 'Look for the model on this machine only', identity=False)
    mechanism: str = param('auto', 'How questions share their prompt; auto: the fastest that '
                           'passes a test at load time',
                           choices=('auto', 'packed', 'lazy', 'expand', 'plain'), identity=False)
    memory_gb: float = param(0.0, 'Bound on the memory of one pass beyond weights and encoded '
                             'prompt [GiB]; 0: half of what is free on a GPU, 2 on a CPU',
                             low=0.0, high=1e4, identity=False)
    max_image_pixels: int = param(0, 'Images with more pixels are made smaller before the '
                                  'processor sees them; 0: never', low=0)
    template_options: str = param('', 'Arguments for the chat template, a JSON object such as '
                                  '{"enable_thinking": false}; the template defines their names')
    temperature: float = param(0.0, 'Temperature of sampling free texts (moves, plans, replies to '
                               'samples); 0: the most probable token each time, as always for '
                               'answers to yes/no questions', low=0.0, high=2.0)
    top_p: float = param(1.0, 'Sampling from the most likely tokens that have this probability '
                         'together; with a temperature above 0', low=0.0, high=1.0)
    top_k: int = param(0, 'Number of most likely tokens to sample from, with a temperature '
                       'above 0; 0: all', low=0)
    sampling_seed: int = param(0, 'Seed of sampling; the same request gets the same text', low=0)
    threads: int = param(0, 'CPU threads of torch in this process; 0: the default of torch',
                         low=0, high=1024, identity=False)
    pointing: str = param(DEFAULT_FAMILY, 'How the model is asked to point: a family of prompts '
                          'of sightplan.queries.pointing_prompts, or a .yaml file of yours')
    coordinates: str = param('', 'Convention of the coordinates in replies; empty: that of the '
                             'family', choices=CONVENTIONS)
    axis_ticks: str = param('auto', 'Whether scales are drawn along the edges of pictures in '
                            'which it points; auto: as the family says', choices=AXIS_TICKS)


def load(label: str, options: Settings, *, pixels: str = '', setting: str = 'model',
         shipped: bool = False) -> tuple[str, Any, Any]:
    """Load a model and its processor.

    Args:
        label: what errors begin with.
        options: what to load and how.
        pixels: library that prepares images: 'pil', or '' for the processor's choice, which is
            torchvision where that is installed.
        setting: what the user calls ``options.model``.
        shipped: whether the folder comes with the package, whose version tells its files; then
            its name tells the weights only.

    Returns:
        Identity, model (of transformers, in evaluation mode), processor.

    Raises:
        InputError: the template's options are no JSON object, or hold what is not theirs.
        BackendError: a library, the model or memory is missing, or the model is unfit.
    """
    template_options(label, options.template_options)
    local = is_folder(options.model)
    identity = folder_identity(label, folder(options.model), setting) if local else ''
    if local and not shipped:
        identity += f'+{files_hash(folder(options.model))}'
    try:
        import torch
        unfit = _hide_unfit_torchvision()
        import transformers
        from transformers.utils import logging as hf_logging
    except ImportError as error:
        raise BackendError(f'{label} needs torch and transformers ({error}); install them: '
                           'pip install "sightplan_models[torch]"') from error
    if options.threads:
        torch.set_num_threads(options.threads)
    source: dict[str, Any] = {'local_files_only': options.offline or local,
                              'trust_remote_code': options.trust_remote_code}
    if options.revision:
        source['revision'] = options.revision
    name = str(folder(options.model)) if local else options.model
    device = _device(label, options.device)
    arguments = _arguments(label, options, device)
    bar = hf_logging.is_progress_bar_enabled()
    hf_logging.disable_progress_bar()
    try:
        processor = load_processor(name, pixels, **source)
        model = transformers.AutoModelForImageTextToText.from_pretrained(
            name, **source, **arguments)
        if 'device_map' not in arguments:
            model = model.to(device)
    except torch.OutOfMemoryError as error:
        raise BackendError(f'{label}: not enough memory to load {options.model} ({error}); load '
                           'it with quantisation 8bit or 4bit, or on more GPUs (device auto, '
                           'with accelerate)') from error
    except (OSError, ImportError, *_FAILURES) as error:
        raise BackendError(f'{label}: {options.model} could not be loaded '
                           f'({_reason(error)}); {_remedy(options, setting, error, unfit)}'
                           ) from error
    finally:
        if bar:
            hf_logging.enable_progress_bar()
    identity = identity or _hub_identity(options, model)
    identity = _with_arithmetic(identity, options, str(model.dtype).removeprefix('torch.'))
    return identity, model.eval(), processor


def load_processor(name: str, pixels: str = '', **source: Any) -> Any:
    """Load a model's processor, without the half of it that prepares videos where that fails.

    Args:
        name: folder, or hub name.
        pixels: see ``load``.
        **source: arguments of ``from_pretrained``.

    Raises:
        Exception: whatever transformers raises.
    """
    from transformers import AutoProcessor

    if not pixels and _can_import('torchvision'):
        return AutoProcessor.from_pretrained(name, **source)
    with _without_videos():
        return AutoProcessor.from_pretrained(name, **source, backend=pixels or 'pil')


class LocalModel(ModelByKind):
    """A loaded model and its processor; answers queries one at a time, from any thread.

    Args:
        label: what errors begin with.
        name: see ``load``, likewise ``model`` and ``processor``.
        model: see there.
        processor: it has a tokenizer and a chat template.
        options: those it was loaded with.
        probe: the prompt with which the mechanism is checked.

    Raises:
        BackendError: it has no chat template, or no tokens for yes and no.
    """

    def __init__(self, label: str, name: str, model: Any, processor: Any, options: Settings,
                 probe: GroundingPrompt = BARE) -> None:
        from sightplan_models._shared_prefix import Sampling, SharedPrefix

        self._sampling = Sampling(options.temperature, options.top_p, options.top_k,
                                  options.sampling_seed) if options.temperature else None
        self._name = name
        self._label = label
        self._options = options
        self._lock = threading.Lock()
        self._usage = Usage()
        if getattr(model.config, 'is_encoder_decoder', False):
            raise BackendError(f'{label}: {name} has an encoder and a decoder; choose a model '
                               'that continues its prompt')
        self._processor = processor
        self._tokenizer: Any = getattr(processor, 'tokenizer', None)
        if self._tokenizer is None or not hasattr(processor, 'image_processor'):
            raise BackendError(f'{label}: the processor of {name} does not take texts and images; '
                               'choose an image-text-to-text model')
        if not _chat_template(processor):
            raise BackendError(f'{label}: {name} has no chat template; choose the instruction-'
                               'tuned version of the model, or put a chat_template.jinja into its '
                               'folder')
        self._template_options = template_options(label, options.template_options)
        self._specials = self._special_tokens()
        tags = {self._tokenizer.convert_tokens_to_ids(tag) for tag in (_OPEN, _CLOSE)}
        self._mute = frozenset(self._tokenizer.all_special_ids) - tags
        added = self._tokenizer.get_added_vocab()
        self._added = _any_of(added)
        self._stop = self._stop_ids(model)
        *self._groups, self._unknown = _answer_ids(label, self._tokenizer,
                                                   model.config.get_text_config().vocab_size)
        self._engine = SharedPrefix(
            model, options.mechanism, options.memory_gb,
            remedy='lower memory_gb or max_image_pixels, or load the model with quantisation '
                   '8bit or 4bit')
        self._apart = True
        """Whether texts after the image may be turned into tokens by themselves."""
        self._kept: tuple[tuple[str, str], Any] | None = None
        self._ids = functools.lru_cache(maxsize=65536)(self._tail_ids)
        self._frame = functools.lru_cache(maxsize=64)(self._split)
        with self._running():
            self._choose(probe)

    @property
    def name(self) -> str:
        """Name and version, for example ``Qwen/Qwen2.5-VL-7B-Instruct@cc594898137f bfloat16``.

        A hub name stands before its commit, a folder's before hashes of its weights and of its
        other files; precision (but for float32), quantisation, image size and options of the
        template follow, as they make other numbers of the same weights.
        """
        return self._name

    @property
    def usage(self) -> Usage:
        """Requests (one per reply) and tokens.

        A prompt's tokens count each time the model reads them.
        """
        return self._usage

    @property
    def mechanism(self) -> str:
        """Mechanism of ``_shared_prefix`` by which questions share their prompt."""
        return self._engine.mechanism

    # Queries ----------------------------------------------------------------------------------

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[YesNoReply]:
        """Answer all questions about one image."""
        seen, prompt = queries[0].observation, queries[0].prompt
        end = _end(deadline)
        with self._running():
            self._checked(seen.image)
            asked = [self._asked(prompt, query.question.text) for query in queries]
            replies = self._answer(seen, prompt, asked, end)
            if time.monotonic() > end:
                try:
                    deadline.check(f'{len(asked)} answers')
                except DeadlineError as late:
                    late.partial = replies
                    raise
        return replies

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        """Reply in free text.

        Without a temperature the text is the most probable one, token by token.
        """
        with self._running():
            images = [self._picture(self._checked(part)) for part in query.parts
                      if not isinstance(part, str)]
            text = self._render(query.system, [part if isinstance(part, str) else None
                                                 for part in query.parts])
            inputs = self._inputs(text, images)
            reply = self._engine.generate(inputs, query.max_tokens, self._stop,
                                          deadline=_end(deadline), sampling=self._sampling)
            self._count(1, inputs['input_ids'].shape[1], len(reply.tokens))
        return TextReply(_opened(text) + self._text(reply.tokens), not reply.finished)

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        """Choose by one letter and its probability."""
        with self._running():
            images = [self._picture(self._checked(part)) for part in query.parts
                      if not isinstance(part, str)]
            text = self._render(query.system, [part if isinstance(part, str) else None
                                                 for part in lettered(query)])
            inputs = self._inputs(text, images)
            groups = [self._letter_ids(letter) for letter in LETTERS[:len(query.options)]]
            scores = self._engine.score_whole([inputs], groups)
            self._count(1, inputs['input_ids'].shape[1], 1)
            said = str(self._tokenizer.decode([scores.top[0]])).strip()
        masses = [float(mass) for mass in scores.masses[0]]
        return read_letter(said, masses if all(groups) else None, query)

    def _letter_ids(self, letter: str) -> tuple[int, ...]:
        """Single tokens that spell a letter, with or without a space before it; () for none."""
        spelled = (self._tokenizer(text, add_special_tokens=False)['input_ids']
                   for text in (letter, f' {letter}'))
        return tuple(sorted({ids[-1] for ids in spelled if ids and str(
            self._tokenizer.decode([ids[-1]])).strip() == letter}))

    def resized(self, image: NDArray[np.uint8]) -> Size:
        """Width and height to which the processor brings a picture [px].

        Raises:
            InputError: the processor does not tell.
            BackendError: it refuses the picture.
        """
        processor = self._processor.image_processor
        with self._running():
            made = processor(images=[self._picture(self._checked(image))], return_tensors='pt')
        grid, patch = made.get('image_grid_thw'), getattr(processor, 'patch_size', None)
        if grid is None or not isinstance(patch, int):
            raise InputError(
                f'{self._label}: the processor of {self.name} does not tell the size to which it '
                'brings pictures, so that resized_pixel_xy cannot be read; set coordinates to the '
                'convention of the model: unit_xy, percent_xy, permille_xy, permille_yx or, for '
                'pixels of the picture as it is, pixel_xy')
        _, rows, columns = (int(number) for number in grid[0])
        return columns * patch, rows * patch

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Admit one thread at a time, and name the model in its errors."""
        try:
            with self._lock:
                yield
        except (DeadlineError, BackendError) as error:
            named = type(error)(f'{self._label}: {error}')
            named.partial = error.partial
            raise named from error
        except _FAILURES as error:
            raise BackendError(f'{self._label}: {self.name} failed ({_reason(error)})') from error

    # Yes and no --------------------------------------------------------------------------------

    def _answer(self, seen: Observation, prompt: GroundingPrompt, asked: list[str],
                deadline: float) -> list[YesNoReply]:
        if time.monotonic() > deadline:
            raise DeadlineError(f'the time limit passed with 0 of {len(asked)} answers ready')
        if self._engine.mechanism == 'plain':
            return self._plainly(seen, prompt, asked, deadline)
        prefix, suffixes = self._shared(seen, prompt, asked)
        groups = self._read_for(prompt)
        self._count(len(asked), sum(map(len, suffixes)), 0)
        if prompt.reasoning:
            opened = _opened(self._frame(prompt)[1])
            texts = self._engine.decode(prefix, suffixes, prompt.max_tokens, self._stop,
                                        groups, functools.partial(self._closed, opened), deadline)
            self._count(0, 0, sum(len(text.tokens) for text in texts))
            return [self._reasoned(text, opened) for text in texts]
        try:
            scores = self._engine.score(prefix, suffixes, groups, deadline)
        except DeadlineError as error:
            error.partial = [None if one is None else self._replies(one.masses, one.top)[0]
                             for one in error.partial]
            raise
        return self._replies(scores.masses, scores.top)

    def _plainly(self, seen: Observation, prompt: GroundingPrompt, asked: list[str],
                 deadline: float) -> list[YesNoReply]:
        picture = self._look(seen)
        head, foot = self._frame(prompt)
        groups = self._read_for(prompt)
        replies: list[YesNoReply] = []
        for number, question in enumerate(asked):
            if time.monotonic() > deadline:
                late = DeadlineError(f'the time limit passed with {number} of {len(asked)} '
                                     'answers ready')
                late.partial = [*replies, *[None] * (len(asked) - number)]
                raise late
            inputs = self._inputs(head + question + foot, [picture])
            self._count(1, inputs['input_ids'].shape[1], 0)
            if prompt.reasoning:
                opened = _opened(foot)
                text = self._engine.generate(inputs, prompt.max_tokens, self._stop, groups,
                                             functools.partial(self._closed, opened), deadline)
                self._count(0, 0, len(text.tokens))
                replies.append(self._reasoned(text, opened))
            else:
                scores = self._engine.score_whole([inputs], groups)
                replies += self._replies(scores.masses, scores.top)
        return replies

    def _replies(self, masses: NDArray[np.float64], top: Sequence[int]) -> list[YesNoReply]:
        """Replies of one token: the most probable one is the model's answer.

        One that begins the word "unknown" stands for it, where that may be said.
        """
        said = [_UNKNOWN if masses.shape[1] > len(self._groups) and token in self._unknown
                else str(self._tokenizer.decode([token])).strip() for token in top]
        return [_reply(text, row) for text, row in zip(said, masses.tolist(), strict=True)]

    def _read_for(self, prompt: GroundingPrompt) -> list[tuple[int, ...]]:
        """Tokens whose probabilities are read: yes, no and, if it is offered, unknown."""
        return [*self._groups, *([self._unknown] if prompt.unknown and self._unknown else [])]

    def _reasoned(self, text: Any, opened: str = '') -> YesNoReply:
        """A reply with reasons; its probabilities are those of the answer's first word.

        ``opened``, the thought that the prompt has opened, is put before the text.
        """
        pieces = (str(self._tokenizer.decode([token])) for token in text.tokens)
        place = answer_place([opened, *pieces])
        return _reply(opened + self._text(text.tokens),
                      () if place is None else text.masses[place - 1])

    def _closed(self, opened: str, tokens: list[int]) -> bool:
        """Whether the answer is complete: no more need be written."""
        if _CLOSE not in self._tokenizer.decode(tokens[-_TAIL_TOKENS:]).lower():
            return False
        return is_answered(opened + self._tokenizer.decode(tokens))

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode([t for t in tokens if t not in self._mute])).strip()

    # The shared prompt -------------------------------------------------------------------------

    def _shared(self, seen: Observation, prompt: GroundingPrompt, asked: list[str],
                ) -> tuple[Any, list[tuple[int, ...]]]:
        """The encoded prompt and the tokens of each question after it.

        The last one is kept: a robot asks about one image more than once.
        """
        head, foot = self._frame(prompt)
        if not self._apart:
            return self._shared_by_ids([head + question + foot for question in asked], seen)
        tails = [self._ids(head, question + foot) for question in asked]
        sight = (self._sight_id(seen), head)
        if self._kept is not None:
            key, (prefix, common) = self._kept
            if key == sight and all(
                    len(tail) > len(common) and tail[:len(common)] == common for tail in tails):
                return prefix, [tail[len(common):] for tail in tails]
        inputs = self._inputs(head + asked[0] + foot, [self._look(seen)])
        ids = inputs['input_ids'][0].tolist()
        length = len(ids) - len(tails[0])
        if length < 1 or tuple(ids[length:]) != tails[0]:
            _LOG.warning('%s: the processor of %s does not turn a question into the same tokens '
                         'as the tokenizer; whole prompts are tokenized, which is slower',
                         self._label, self.name)
            self._apart = False
            return self._shared(seen, prompt, asked)
        probes = [self._ids(head, self._asked(prompt, probe) + foot) for probe in _PROBES]
        common = _common([*tails, *probes])
        self._kept = None
        prefix = self._engine.encode(_cut(inputs, length), common)
        self._count(0, prefix.length, 0)
        self._kept = sight, (prefix, common)
        return prefix, [tail[len(common):] for tail in tails]

    def _shared_by_ids(self, texts: list[str], seen: Observation,
                       ) -> tuple[Any, list[tuple[int, ...]]]:
        """Encode the shared prefix from whole prompts, each run through the processor."""
        picture = self._look(seen)
        first = self._inputs(texts[0], [picture])
        whole = [tuple(first['input_ids'][0].tolist())]
        whole += [tuple(self._inputs(text, [picture])['input_ids'][0].tolist())
                  for text in texts[1:]]
        common = _common(whole)
        prefix = self._engine.encode(_cut(first, len(common)))
        self._count(0, prefix.length, 0)
        return prefix, [ids[len(common):] for ids in whole]

    def _tail_ids(self, head: str, rest: str) -> tuple[int, ...]:
        """Token ids of the text after the last special token of ``head``.

        That token stands before the text, so that the tokenizer treats its beginning as it does
        within a whole prompt.
        """
        marks = list(self._added.finditer(head))
        if not marks:
            return ()
        anchor = marks[-1].group()
        ids = self._tokenizer(anchor + head[marks[-1].end():] + rest,
                              add_special_tokens=False)['input_ids']
        known = self._tokenizer.convert_tokens_to_ids(anchor)
        return tuple(ids[1:]) if ids and ids[0] == known else ()

    def _choose(self, probe: GroundingPrompt) -> None:
        """Check the prompt's frame and find the mechanism; also warms everything up."""
        ramp = np.linspace(0, 255, _FIRST_PIXELS[1], dtype=np.uint8)[None, :, None]
        seen = Observation(np.broadcast_to(ramp, _FIRST_PIXELS).copy())
        head, foot = self._frame(probe)
        asked = [self._asked(probe, question) for question in _PROBES]
        texts = [head + question + foot for question in asked]
        if texts[0] != self._render(probe.system, _parts(probe, asked[0])):
            raise BackendError(f'the chat template of {self.name} changes the '
                               'question; choose another model')
        whole = [self._inputs(text, [self._look(seen)]) for text in texts]
        bare = self._render(probe.system, [part for part in _parts(probe, _SENTINEL)
                                           if part is not None])
        if bare.partition(_SENTINEL)[0] == head:
            _LOG.warning('%s: the chat template of %s does not put the image before the question; '
                         'each question pays for the image again', self._label, self.name)
            self._engine.give_up('the image stands after the question')
            self._warn_of_thoughts(foot, self._engine.score_whole(whole, self._groups).masses)
            return
        first = whole[0]
        tails = [self._ids(head, question + foot) for question in asked]
        ids = [tuple(inputs['input_ids'][0].tolist()) for inputs in whole]
        cuts = {len(whole_ids) - len(tail) for whole_ids, tail in zip(ids, tails, strict=True)}
        if (len(cuts) != 1 or not all(tails)
                or any(w[-len(t):] != t for w, t in zip(ids, tails, strict=True))):
            _LOG.warning('%s: the tokenizer of %s joins a question to what stands before it; '
                         'whole prompts are tokenized, which is slower', self._label, self.name)
            self._apart = False
            common = _common(ids)
            tails, cuts = [whole_ids[len(common):] for whole_ids in ids], {len(common)}
        self._engine.choose(_cut(first, cuts.pop()), tails, whole, self._groups)
        self._warn_of_thoughts(foot, self._engine.probed)

    def _warn_of_thoughts(self, foot: str, masses: NDArray[np.float64]) -> None:
        """Warn if the model's first word can hardly be yes or no: ``masses`` (N, 2)."""
        found = _OPENED_SOMEHOW.search(foot)
        likely = float(masses.sum(1).max())
        if found is None and likely >= _UNLIKELY:
            return
        _LOG.warning(
            '%s: %s does not answer with its first word: %s. Probabilities of yes and no are read '
            'there, so they tell nothing. If the model thinks first, switch that off, for example '
            'with template_options={"enable_thinking": false} (the names are those of its chat '
            'template), or choose a method in which it may think: ground_cot, ground_mem_cot',
            self._label, self.name,
            f'its chat template ends in {found[0].strip()}' if found is not None
            else f'yes and no have a probability of {likely:.1g} together')

    # Prompts -----------------------------------------------------------------------------------

    def _asked(self, prompt: GroundingPrompt, question: str) -> str:
        """Text of a question in the prompt."""
        return self._harmless(prompt.ask(question)).strip()

    def _harmless(self, text: str) -> str:
        """A text without tokens to which the model gives a meaning of their own.

        Names of objects, memories and histories (what a model itself wrote) may hold an end of
        turn or an image's place. They are to be read, not obeyed, and must not end an episode
        either: a space after the first sign makes them plain text ("< |im_end|>").
        """
        while True:
            plain = self._specials.sub(lambda found: f'{found[0][0]} {found[0][1:]}', text)
            if plain == text:
                return plain
            text = plain

    def _special_tokens(self) -> re.Pattern[str]:
        """Tokens that no text of a prompt may hold; tags of answers may be there."""
        tokens = {str(token) for token in self._tokenizer.all_special_tokens}
        tokens |= {str(token) for token in getattr(
            self._tokenizer, 'added_tokens_decoder', {}).values()
            if getattr(token, 'special', False)}
        tokens |= {str(value) for name, value in vars(self._processor).items()
                   if name.endswith('_token') and isinstance(value, str)}
        return _any_of(token for token in tokens - {_OPEN, _CLOSE}
                       if len(token) >= _SPECIAL_LETTERS)

    def _split(self, prompt: GroundingPrompt) -> tuple[str, str]:
        """The rendered prompt before and after the question."""
        text = self._render(prompt.system, _parts(prompt, _SENTINEL))
        head, found, foot = text.rpartition(_SENTINEL)
        if not found:
            raise BackendError(f'the chat template of {self.name} leaves out the '
                               'question; choose another model')
        return head, foot

    def _render(self, system: str, parts: Sequence[str | None]) -> str:
        """The prompt as text, by the chat template; None stands for an image.

        Templates differ in the form of a system text they take; the first form whose result holds
        all texts is used.
        """
        system = self._harmless(system)
        parts = [part and self._harmless(part) for part in parts]
        content = [{'type': 'image'} if part is None else {'type': 'text', 'text': part}
                   for part in parts if part != '']
        said = [{'type': 'text', 'text': system}]
        user = [{'role': 'user', 'content': content}]
        forms: list[list[dict[str, Any]]] = [user]
        if system:
            forms = [[{'role': 'system', 'content': said}, *user],
                     [{'role': 'system', 'content': system}, *user],
                     [{'role': 'user', 'content': [*said, *content]}]]
        texts = [text.strip() for text in (system, *(part for part in parts if part))]
        reasons = []
        for form in forms:
            try:
                rendered = str(self._processor.apply_chat_template(
                    form, add_generation_prompt=True, tokenize=False,
                    **self._template_options))
            except Exception as error:  # templates raise what they like
                reasons.append(_reason(error))
                continue
            if all(text in rendered for text in texts) and "'type':" not in rendered.replace(
                    '\n'.join(texts), ''):
                return rendered
            reasons.append('it leaves out or changes a text')
        raise BackendError(f'the chat template of {self.name} cannot be used '
                           f'({"; ".join(dict.fromkeys(reasons))}); choose another model')

    def _inputs(self, text: str, images: Sequence[Any]) -> dict[str, Any]:
        """Inputs of the model for a rendered prompt and its images: a batch of one."""
        more: dict[str, Any] = {'images': list(images)} if images else {}
        begin = self._tokenizer.bos_token
        if begin and text.startswith(begin):  # as the processor itself does in chats
            more['add_special_tokens'] = False
        try:
            return dict(self._processor(text=[text], return_tensors='pt', **more))
        except _FAILURES as error:
            raise BackendError(f'the processor of {self.name} refuses the prompt '
                               f'({_reason(error)}); texts must not hold its image '
                               'tokens') from error

    # Images and numbers ------------------------------------------------------------------------

    def _checked(self, image: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        if image is None:
            raise BackendError('the observation holds no image; this backend only '
                               'answers questions about a picture')
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise BackendError(f'the image is {image.dtype} {image.shape}; it must '
                               'be uint8 RGB of shape (height, width, 3)')
        if min(image.shape[:2]) < _LEAST_PX:
            raise BackendError(
                f'an image of {image.shape[1]}x{image.shape[0]} pixels shows '
                f'nothing; it must have {_LEAST_PX} at least (a world with pictures=none draws '
                'none: choose pictures=pybullet)')
        return image

    def _sight_id(self, seen: Observation) -> str:
        """Two observations that give the model the same to see have the same."""
        return seen.image_id

    def _look(self, seen: Observation) -> Any:
        """Picture of an observation for ``_inputs``; the image was checked before."""
        assert seen.image is not None
        return self._picture(seen.image)

    def _picture(self, image: NDArray[np.uint8]) -> Any:
        from PIL import Image

        picture = Image.fromarray(np.ascontiguousarray(image))
        limit = self._options.max_image_pixels
        if limit and picture.width * picture.height > limit:
            scale = (limit / (picture.width * picture.height)) ** 0.5
            picture = picture.resize((max(1, int(picture.width * scale)),
                                      max(1, int(picture.height * scale))),
                                     Image.Resampling.BICUBIC)
        return picture

    def _count(self, requests: int, prompt_tokens: int, completion_tokens: int) -> None:
        self._usage += Usage(requests, int(prompt_tokens), completion_tokens)

    def _stop_ids(self, model: Any) -> frozenset[int]:
        found: set[int] = set()
        for value in (model.generation_config.eos_token_id, self._tokenizer.eos_token_id):
            found |= set(value) if isinstance(value, list | tuple) else {value}
        return frozenset(token for token in found if token is not None)


def _end(deadline: Deadline) -> float:
    """Time on the monotonic clock at which a deadline passes; infinite without a limit."""
    return math.inf if deadline.timeout_s is None else deadline.started_s + deadline.timeout_s


def _parts(prompt: GroundingPrompt, question: str) -> list[str | None]:
    """Parts of the user's message: texts, and None for the image."""
    after = prompt.after_image
    gap = '\n' if after and not after[-1].isspace() else ''
    return [prompt.before_image, None, after + gap + question]


def _any_of(tokens: Iterable[str]) -> re.Pattern[str]:
    """Pattern that matches any of the tokens, the longest first."""
    return re.compile('|'.join(map(re.escape, sorted(tokens, key=len, reverse=True))) or r'(?!)')


def _opened(prompt: str) -> str:
    """The thought that a prompt has opened for the reply; '' if it has not."""
    found = _OPENED.search(prompt)
    return '' if found is None else found[0]


def _cut(inputs: dict[str, Any], length: int) -> dict[str, Any]:
    """Inputs of the first ``length`` tokens and of all images."""
    shape = inputs['input_ids'].shape
    return {name: value[:, :length] if getattr(value, 'shape', None) == shape else value
            for name, value in inputs.items()}


def _common(ids: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common beginning, which leaves each a token at least."""
    first, length = ids[0], min(map(len, ids)) - 1
    same = next((i for i in range(length) if any(other[i] != first[i] for other in ids)), length)
    return first[:same]


def _chat_template(processor: Any) -> Any:
    return (getattr(processor, 'chat_template', None)
            or getattr(processor.tokenizer, 'chat_template', None))


def _reply(text: str, chances: Sequence[float]) -> YesNoReply:
    """A reply with the probabilities of yes, no and, if it was offered, unknown; () for none."""
    yes, no, unknown = [*chances, None, None, None][:3]
    return YesNoReply(text, yes, no, unknown)


def _answer_ids(label: str, tokenizer: Any, size: int) -> tuple[tuple[int, ...], ...]:
    """Ids of all single tokens that spell yes, no and unknown, whatever case and leading space.

    Many tokenizers cut "unknown" in pieces: of that word any beginning of two letters or more
    counts.
    """
    found: dict[str, list[int]] = {'yes': [], 'no': [], 'unknown': []}
    for token, index in tokenizer.get_vocab().items():
        low = token.lower()
        if index < size and len(low) < 12 and ('yes' in low or 'no' in low or 'un' in low):
            word = tokenizer.convert_tokens_to_string([token]).strip(' \u2581\u0120\n').lower()
            if begins_unknown(word):
                word = 'unknown'
            if word in found:
                found[word].append(index)
    if not found['yes'] or not found['no']:
        raise BackendError(f'{label}: the tokenizer has no single tokens for yes and no; choose '
                           'another model')
    return tuple(tuple(sorted(ids)) for ids in found.values())


# Loading ---------------------------------------------------------------------------------------

def is_folder(model: str) -> bool:
    """Whether a model is given by its folder, which may be missing, and not by a hub name."""
    return model.startswith(('.', '/', '~')) or folder(model).is_dir()


def folder(model: str) -> Path:
    return Path(model).expanduser()


def folder_identity(label: str, folder: Path, setting: str, kind: str = 'config') -> str:
    """Name of a model's folder, and hash of its weights; ``setting`` names the folder in errors.

    ``kind`` is the name of the JSON file that says what the model is.

    All bytes of files up to 256 MiB are hashed, of larger ones their size and 64 MiB spread
    evenly: a fine-tuned model differs everywhere.

    Raises:
        BackendError: the folder is not a model folder.
    """
    remedy = f'name a folder that AutoModelForImageTextToText can load as {setting}'
    if not folder.is_dir():
        raise BackendError(f'{label}: the model folder {folder} does not exist; {remedy}')
    weights = sorted([*folder.glob('*.safetensors'), *folder.glob('pytorch_model*.bin')])
    if not weights or not (folder / f'{kind}.json').is_file():
        raise BackendError(f'{label}: {folder} lacks {kind}.json or *.safetensors; {remedy}')
    digest = hashlib.sha256()
    for path in weights:
        size = path.stat().st_size
        if size <= _WHOLE_FILE:
            digest.update(path.read_bytes())
            continue
        digest.update(str(size).encode())
        with path.open('rb') as file:
            for sample in range(_SAMPLES):
                file.seek((size - _SAMPLE) * sample // (_SAMPLES - 1))
                digest.update(file.read(_SAMPLE))
    return f'{folder.resolve().name}@{digest.hexdigest()[:12]}'


def files_hash(folder: Path) -> str:
    """Hash of a model folder's configuration, tokenizer, processor, chat template and code."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _DECIDING for path in folder.glob(pattern)
                        if path.is_file()}):
        content = path.read_bytes()
        digest.update(f'{path.relative_to(folder).as_posix()} {len(content)}\n'.encode())
        digest.update(content)
    return digest.hexdigest()[:8]


def template_options(label: str, text: str) -> dict[str, Any]:
    """Arguments for the chat template, from JSON.

    Raises:
        InputError: the text is no JSON object, or names what is not the user's to choose.
    """
    if not text:
        return {}
    try:
        options = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f'backend {label}: template_options is not JSON ({error}); an example: '
                         '{"enable_thinking": false}') from error
    if not isinstance(options, dict) or set(options) & _OURS:
        raise InputError(f'backend {label}: template_options must be a JSON object without '
                         f'{", ".join(sorted(_OURS))}; an example: {{"enable_thinking": false}}')
    return options


def _hub_identity(options: Settings, model: Any) -> str:
    """Name and commit of a model from the hub."""
    commit = getattr(model.config, '_commit_hash', None) or options.revision or 'unknown'
    return f'{options.model}@{commit[:12]}'


def _with_arithmetic(identity: str, options: Settings, dtype: str) -> str:
    """Identity with all settings that change a model's numbers; float32 is not named."""
    extra = [] if dtype == 'float32' else [dtype]
    if options.quantisation != 'none':
        extra.append(options.quantisation)
    if options.max_image_pixels:
        extra.append(f'max_image_pixels={options.max_image_pixels}')
    chosen = template_options('', options.template_options)
    if chosen:
        extra.append('template_options=' + json.dumps(chosen, sort_keys=True,
                                                      separators=(',', ':')))
    return ' '.join([identity, *extra])


def _device(label: str, wanted: str) -> str:
    """Device by torch's name; a BackendError if it is not there."""
    import torch

    if wanted == 'auto':
        return 'cuda' if torch.cuda.is_available() else 'cpu'
    if wanted == 'cpu':
        return wanted
    number = int(wanted.partition(':')[2] or 0)
    if not torch.cuda.is_available() or number >= torch.cuda.device_count():
        have = f'{torch.cuda.device_count()} of them' if torch.cuda.is_available() else 'none'
        raise BackendError(f'{label}: device {wanted} asks for a CUDA GPU, there is {have}; '
                           'choose device auto or cpu')
    return wanted


def _arguments(label: str, options: Settings, device: str) -> dict[str, Any]:
    """Arguments of the model's ``from_pretrained``: precision, place, attention."""
    import torch

    gpu = device != 'cpu'
    found: dict[str, Any] = {'dtype': getattr(torch, options.dtype) if options.dtype != 'auto'
                             else 'auto' if gpu else torch.float32}
    if options.attention != 'auto':
        found['attn_implementation'] = options.attention
    if options.attention == 'flash_attention_2' and not _can_import('flash_attn'):
        raise BackendError(f'{label}: attention flash_attention_2 needs a library: pip install '
                           'flash-attn, or choose attention auto')
    if options.quantisation != 'none':
        missing = [library for library in ('bitsandbytes', 'accelerate')
                   if not _can_import(library)]
        if missing:
            raise BackendError(f'{label}: quantisation {options.quantisation} needs '
                               f'{" and ".join(missing)}: pip install bitsandbytes accelerate, or '
                               'choose quantisation none')
        if not gpu:
            raise BackendError(f'{label}: quantisation {options.quantisation} needs a CUDA GPU; '
                               'choose quantisation none')
        from transformers import BitsAndBytesConfig
        compute = torch.float16 if options.dtype == 'float16' else torch.bfloat16
        found['quantization_config'] = (
            BitsAndBytesConfig(load_in_8bit=True) if options.quantisation == '8bit'
            else BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=compute,
                                    bnb_4bit_quant_type='nf4'))
    if gpu and _can_import('accelerate'):
        several = options.device == 'auto' and torch.cuda.device_count() > 1
        found['device_map'] = 'auto' if several else {'': device}
    return found


def _can_import(library: str) -> bool:
    """Whether a library is there and can be imported; being installed is not enough."""
    try:
        importlib.import_module(library)
    except _IMPORT_FAILURES:
        return False
    return True


@functools.cache
def _hide_unfit_torchvision() -> str:
    """Let transformers do without a torchvision that cannot be imported.

    A torchvision that was built for another torch fails when it is imported, and transformers,
    which looks only whether it is installed, then fails for every model. It must be called before
    transformers is imported.

    Returns:
        why torchvision cannot be imported; '' if it can, or is not installed.
    """
    if importlib.util.find_spec('torchvision') is None:
        return ''
    try:
        importlib.import_module('torchvision')
    except _IMPORT_FAILURES as error:
        for name in [name for name in sys.modules if name.partition('.')[0] == 'torchvision']:
            del sys.modules[name]
        sys.modules['torchvision'] = None  # type: ignore[assignment]
        _LOG.warning('the installed torchvision does not fit torch (%s) and is not used; '
                     'install the two from one index', _reason(error))
        return _reason(error)
    return ''


@contextlib.contextmanager
def _without_videos() -> Iterator[None]:
    """Let processors load without their part for videos, which needs torchvision.

    Half of the processors of today take videos, too, and none of them is ever given one here.
    """
    from transformers import ProcessorMixin
    from transformers.models.auto.video_processing_auto import AutoVideoProcessor

    check = ProcessorMixin.check_argument_for_proper_class

    def check_all_but_videos(processor: Any, name: str, value: Any) -> Any:
        return None if isinstance(value, _NoVideos) else check(processor, name, value)

    with (mock.patch.object(AutoVideoProcessor, 'from_pretrained', return_value=_NoVideos()),
          mock.patch.object(ProcessorMixin, check.__name__, check_all_but_videos)):
        yield


class _NoVideos(dict[str, Any]):
    """Stand-in for a processor's part for videos; it is written as empty JSON."""

    model_input_names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> None:
        """Return None for any setting of videos (frames a second, ...): pictures need none."""
        if name.startswith('__'):
            raise AttributeError(name)


def _install(error: BaseException, unfit: str) -> str:
    """Command that installs the library that an error misses."""
    python, text = sys.executable, str(error)
    if 'torchvision' in text.lower() or 'backend is not available' in text:
        torch = importlib.metadata.version('torch')
        why = (f'the installed torchvision cannot be imported ({unfit}): ' if unfit else
               'the processor of this model needs torchvision: ')
        return (f'{why}{python} -m pip install --upgrade torchvision, from the index that torch '
                f'{torch} came from')
    named = re.search(r'pip install (?:-U )?([\w.-]*\w)', text)
    library = named[1] if named else error.name if isinstance(error, ImportError) else ''
    return (f'{python} -m pip install {library}' if library
            else f'install what is missing with {python} -m pip install')


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or ['']
    return f'{type(error).__name__}: {lines[0][:300]}'


def _remedy(options: Settings, setting: str, error: BaseException, unfit: str) -> str:
    """Remedy for the user.

    ``unfit`` says why the installed torchvision is not used ('' if it is).
    """
    if isinstance(error, ImportError) or 'torchvision' in str(error):
        return _install(error, unfit)
    if is_folder(options.model):
        return (f'name as {setting} the folder of an image-text-to-text model, with its '
                'processor, that the installed transformers knows')
    if isinstance(error, OSError):
        if options.offline:
            return 'it is not on this machine: switch offline off once, to fetch it'
        return ('either the hub cannot be reached from here or it has no such model or revision: '
                'check the name, or give the folder of a copy')
    return ('it must be an image-text-to-text model that the installed transformers knows; a '
            'newer transformers may know it')

