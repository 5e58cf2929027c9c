"""Models of transformers on this machine: queries go in, replies come out.

``_model_loading`` loads a model and its processor, ``_chat_prompts`` writes prompts by the chat
template, ``_shared_prefix`` does the arithmetic; a :class:`LocalModel` puts them together. Nothing
here depends on a model's family: whatever the Auto classes load is used through its processor and
its chat template.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

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
)
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Answer, Generate, TextReply, YesNo
from sightplan.queries.choose import (
    LETTERS,
    ChoiceReply,
    Choose,
    lettered,
    read_letter,
)
from sightplan.queries.coordinates import Size
from sightplan.vlm.images import checked_pixels
from sightplan.vlm.replies import answer_place, begins_unknown, is_answered
from sightplan_models._chat_prompts import ANSWER_TAGS, SENTINEL, ChatPrompts, parts_of
from sightplan_models._model_identity import template_options
from sightplan_models._model_loading import FAILURES, Settings
from sightplan_models._processors import reason

_LOG = logging.getLogger(__name__)
_PROBES = ('Is the red block the topmost of its column?',
           'does "c1" stand to the left of the column labeled "c2"?')
_UNKNOWN = 'Unknown'
_TAIL_TOKENS = 16
"""Number of last tokens that are searched for the closing tag; each holds at least a character."""
_NOTHING_SHOWN = ('the observation holds neither an image nor a text; a model must be shown one '
                  'of them')
_FIRST_PIXELS = (480, 640, 3)
_UNLIKELY = 1e-3
"""Total probability of yes and no below which a model did not mean to say either."""
_OPENED = re.compile(r'<think>\s*\Z', re.IGNORECASE)
_OPENED_SOMEHOW = re.compile(
    r'[<\[\u25c1]\|?(?:begin_of_|start_)?(?:think|thinking|thought|reasoning)\|?[>\]\u25b7]\s*\Z',
    re.IGNORECASE)


class LocalModel(ModelByKind):
    """A loaded model and its processor; answers queries one at a time, from any thread.

    Args:
        label: what errors begin with.
        name: see ``_model_loading.load``, likewise ``model`` and ``processor``.
        model: see there.
        processor: it has a tokenizer and a chat template.
        options: those it was loaded with.
        probe: the prompt with which the mechanism is checked.

    Raises:
        BackendError: it has no chat template, or no tokens for yes and no.
    """

    def __init__(self, label: str, name: str, model: Any, processor: Any, options: Settings,
                 probe: GroundingPrompt = BARE) -> None:
        from sightplan_models._shared_prefix import SharedPrefix
        from sightplan_models._shared_prefix_sampling import Sampling

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
        self._prompts = ChatPrompts(label, self.name, processor, template_options(
            label, options.template_options))
        self._processor = processor
        self._tokenizer: Any = processor.tokenizer
        tags = {self._tokenizer.convert_tokens_to_ids(tag) for tag in ANSWER_TAGS}
        self._mute = frozenset(self._tokenizer.all_special_ids) - tags
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
        self._ids = functools.lru_cache(maxsize=65536)(self._prompts.tail_ids)
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
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image, or one description."""
        seen, prompt = queries[0].observation, queries[0].prompt
        end = _end(deadline)
        with self._running():
            self._check(seen)
            asked = [self._prompts.asked(prompt, query.question.text) for query in queries]
            replies = self._answer(seen, prompt, asked, end)
            if time.monotonic() > end:
                try:
                    deadline.check(f'{len(asked)} answers')
                except DeadlineError as late:
                    late.partial = replies
                    raise
        return replies

    def ask_plainly(self, queries: Sequence[YesNo]) -> list[Answer]:
        """Answer each question with its own copy of prompt and scene: the reference."""
        seen, prompt = queries[0].observation, queries[0].prompt
        with self._running():
            self._check(seen)
            return self._plainly(seen, prompt, [
                self._prompts.asked(prompt, query.question.text) for query in queries], math.inf)

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        """Reply in free text.

        Without a temperature the text is the most probable one, token by token.
        """
        with self._running():
            images = [self._picture(part) for part in query.parts
                      if not isinstance(part, str)]
            text = self._prompts.render(query.system, [part if isinstance(part, str) else None
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
            images = [self._picture(part) for part in query.parts
                      if not isinstance(part, str)]
            text = self._prompts.render(query.system, [part if isinstance(part, str) else None
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
            made = processor(images=[self._picture(image)], return_tensors='pt')
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
        except FAILURES as error:
            raise BackendError(f'{self._label}: {self.name} failed ({reason(error)})') from error

    # Yes and no --------------------------------------------------------------------------------

    def _answer(self, seen: Observation, prompt: GroundingPrompt, asked: list[str],
                deadline: float) -> list[Answer]:
        if time.monotonic() > deadline:
            raise DeadlineError(f'the time limit passed with 0 of {len(asked)} answers ready')
        if self._engine.mechanism == 'plain':
            return self._plainly(seen, prompt, asked, deadline)
        prefix, suffixes = self._shared(seen, prompt, asked)
        groups = self._read_for(prompt)
        self._count(len(asked), sum(map(len, suffixes)), 0)
        if prompt.reasoning:
            opened = _opened(self._split(prompt, seen)[1])
            texts = self._engine.decode(prefix, suffixes, prompt.max_tokens, self._stop,
                                        groups, functools.partial(self._closed, opened), deadline)
            self._count(0, 0, sum(len(text.tokens) for text in texts))
            return [self._reasoned(text, prompt.max_tokens, opened) for text in texts]
        try:
            scores = self._engine.score(prefix, suffixes, groups, deadline)
        except DeadlineError as error:
            error.partial = [None if one is None else self._replies(one.masses, one.top)[0]
                             for one in error.partial]
            raise
        return self._replies(scores.masses, scores.top)

    def _plainly(self, seen: Observation, prompt: GroundingPrompt, asked: list[str],
                 deadline: float) -> list[Answer]:
        pictures = self._look(seen)
        head, foot = self._split(prompt, seen)
        groups = self._read_for(prompt)
        replies: list[Answer] = []
        for number, question in enumerate(asked):
            if time.monotonic() > deadline:
                late = DeadlineError(f'the time limit passed with {number} of {len(asked)} '
                                     'answers ready')
                late.partial = [*replies, *[None] * (len(asked) - number)]
                raise late
            inputs = self._inputs(head + question + foot, pictures)
            self._count(1, inputs['input_ids'].shape[1], 0)
            if prompt.reasoning:
                opened = _opened(foot)
                text = self._engine.generate(inputs, prompt.max_tokens, self._stop, groups,
                                             functools.partial(self._closed, opened), deadline)
                self._count(0, 0, len(text.tokens))
                replies.append(self._reasoned(text, prompt.max_tokens, opened))
            else:
                scores = self._engine.score_whole([inputs], groups)
                replies += self._replies(scores.masses, scores.top)
        return replies

    def _replies(self, masses: NDArray[np.float64], top: Sequence[int]) -> list[Answer]:
        """Replies of one token: the most probable one is the model's answer.

        One that begins the word "unknown" stands for it, where that may be said.
        """
        said = [_UNKNOWN if masses.shape[1] > len(self._groups) and token in self._unknown
                else str(self._tokenizer.decode([token])).strip() for token in top]
        return [_reply(text, row) for text, row in zip(said, masses.tolist(), strict=True)]

    def _read_for(self, prompt: GroundingPrompt) -> list[tuple[int, ...]]:
        """Tokens whose probabilities are read: yes, no and, if it is offered, unknown."""
        return [*self._groups, *([self._unknown] if prompt.unknown and self._unknown else [])]

    def _reasoned(self, text: Any, limit: int, opened: str = '') -> Answer:
        """A reply with reasons; its probabilities are those of the answer's first word.

        ``opened``, the thought that the prompt has opened, is put before the text. ``limit`` is
        the most tokens that the reply was given.
        """
        pieces = (str(self._tokenizer.decode([token])) for token in text.tokens)
        place = answer_place([opened, *pieces])
        return _reply(opened + self._text(text.tokens),
                      () if place is None else text.masses[place - 1],
                      0 if text.finished else limit)

    def _closed(self, opened: str, tokens: list[int]) -> bool:
        """Whether the answer is complete: no more need be written."""
        if ANSWER_TAGS[1] not in self._tokenizer.decode(tokens[-_TAIL_TOKENS:]).lower():
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
        head, foot = self._split(prompt, seen)
        if not self._apart:
            return self._shared_by_ids([head + question + foot for question in asked], seen)
        tails = [self._ids(head, question + foot) for question in asked]
        sight = (self._sight_id(seen), head)
        if self._kept is not None:
            key, (prefix, common) = self._kept
            if key == sight and all(
                    len(tail) > len(common) and tail[:len(common)] == common for tail in tails):
                return prefix, [tail[len(common):] for tail in tails]
        inputs = self._inputs(head + asked[0] + foot, self._look(seen))
        ids = inputs['input_ids'][0].tolist()
        length = len(ids) - len(tails[0])
        if length < 1 or tuple(ids[length:]) != tails[0]:
            _LOG.warning('%s: the processor of %s does not turn a question into the same tokens '
                         'as the tokenizer; whole prompts are tokenized, which is slower',
                         self._label, self.name)
            self._apart = False
            return self._shared(seen, prompt, asked)
        probes = [self._ids(head, self._prompts.asked(prompt, probe) + foot) for probe in _PROBES]
        common = _common([*tails, *probes])
        self._kept = None
        prefix = self._engine.encode(_cut(inputs, length), common)
        self._count(0, prefix.length, 0)
        self._kept = sight, (prefix, common)
        return prefix, [tail[len(common):] for tail in tails]

    def _shared_by_ids(self, texts: list[str], seen: Observation,
                       ) -> tuple[Any, list[tuple[int, ...]]]:
        """Encode the shared prefix from whole prompts, each run through the processor."""
        pictures = self._look(seen)
        first = self._inputs(texts[0], pictures)
        whole = [tuple(first['input_ids'][0].tolist())]
        whole += [tuple(self._inputs(text, pictures)['input_ids'][0].tolist())
                  for text in texts[1:]]
        common = _common(whole)
        prefix = self._engine.encode(_cut(first, len(common)))
        self._count(0, prefix.length, 0)
        return prefix, [ids[len(common):] for ids in whole]

    def _choose(self, probe: GroundingPrompt) -> None:
        """Check the prompt's frame and find the mechanism; also warms everything up."""
        ramp = np.linspace(0, 255, _FIRST_PIXELS[1], dtype=np.uint8)[None, :, None]
        seen = Observation(np.broadcast_to(ramp, _FIRST_PIXELS).copy())
        head, foot = self._prompts.split(probe)
        asked = [self._prompts.asked(probe, question) for question in _PROBES]
        texts = [head + question + foot for question in asked]
        if texts[0] != self._prompts.render(probe.system, parts_of(probe, asked[0])):
            raise BackendError(f'the chat template of {self.name} changes the '
                               'question; choose another model')
        whole = [self._inputs(text, self._look(seen)) for text in texts]
        bare = self._prompts.render(probe.system, [part for part in parts_of(probe, SENTINEL)
                                           if part is not None])
        if bare.partition(SENTINEL)[0] == head:
            _LOG.warning('%s: the chat template of %s does not put the image before the question; '
                         'each question pays for the image again', self._label, self.name)
            self._engine.give_up()
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

    # Images and numbers ------------------------------------------------------------------------

    def _check(self, seen: Observation) -> None:
        """Check that an observation shows something."""
        if not seen.described:
            checked_pixels(seen.image, _NOTHING_SHOWN)

    def _sight_id(self, seen: Observation) -> str:
        """Two observations that give the model the same to see have the same."""
        return seen.image_id

    def _look(self, seen: Observation) -> list[Any]:
        """Pictures of an observation for ``_inputs``, none of a description; checked before."""
        if seen.described:
            return []
        assert seen.image is not None
        return [self._picture(seen.image)]

    def _split(self, prompt: GroundingPrompt, seen: Observation) -> tuple[str, str]:
        """The rendered prompt before and after the question; a description is in it."""
        return self._prompts.split(prompt, seen.text if seen.described else None)

    def _inputs(self, text: str, images: Sequence[Any]) -> dict[str, Any]:
        """Inputs of the model for a rendered prompt and what ``_look`` made of its images."""
        return self._prompts.inputs(text, images)

    def _picture(self, image: NDArray[np.uint8]) -> Any:
        from PIL import Image

        picture = Image.fromarray(np.ascontiguousarray(checked_pixels(image, _NOTHING_SHOWN)))
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


def _reply(text: str, chances: Sequence[float], cut_at: int = 0) -> Answer:
    """A reply with the probabilities of yes, no and, if it was offered, unknown; () for none."""
    yes, no, unknown = [*chances, None, None, None][:3]
    return Answer(text, yes, no, unknown, cut_at=cut_at)


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
