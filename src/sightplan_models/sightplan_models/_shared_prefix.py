"""Many questions about one image: encode what they share once, then run only the questions.

Token ids and pixel tensors go in, probabilities come out; processors, chat templates and words
are the business of ``_local_models``. With a model of transformers (any
``...ForConditionalGeneration`` of a decoder that takes images)::

    engine = SharedPrefix(model)            # mechanism='auto', or force one
    engine.choose(inputs, suffixes)         # self-test: which mechanism gives the right numbers
    prefix = engine.encode(inputs)          # system text, image, common words: once
    scores = engine.score(prefix, suffixes, (yes_ids, no_ids))
    texts = engine.decode(prefix, suffixes, limit=256, stop={eos})  # greedy, one batch

``inputs`` is what a processor returns for a batch of one: ``input_ids`` (1, P) and whatever else
the model takes (``pixel_values``, ``image_grid_thw``, ``token_type_ids`` ...). A suffix is the
token ids that follow, unlike for each question, at least one.

=========  =====================================================================================
mechanism  how the questions of one pass meet the encoded prompt
=========  =====================================================================================
packed     as a few rows of many questions. The questions of a row form a tree, in which a common
           beginning ("Is the red block ...") is one branch: a token's position is its depth and
           it attends to the prompt and its ancestors, by an explicit mask (one for full and one
           for sliding attention).
lazy       one question a row, with ordinary padding masks; the prompt's keys and values stay at
           batch 1 and are widened one layer at a time. For attention kernels that take no mask.
expand     the same with a copied cache, for recurrent, convolutional and chunked layers.
plain      each question with its own prompt: the reference, and for models that cannot share one
           (PaliGemma: its image tokens attend to the question).
=========  =====================================================================================

Scores of all four are equal up to rounding: the tests show it on real architectures. Memory is
bounded: passes are cut so that masks, keys, values, activations and logits (those of the wanted
tokens only) stay within ``memory_gb``, though never below one question.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from transformers import (
    DynamicCache,
    GenerationConfig,
    LogitsProcessorList,
    StoppingCriteriaList,
)
from transformers.cache_utils import DynamicLayer

from sightplan.model import BackendError, DeadlineError
from sightplan_models._shared_prefix_cache import widening
from sightplan_models._shared_prefix_sampling import Sampling, Watch
from sightplan_models._shared_prefix_trees import Suffix, halves, rows_of, tree_of
from sightplan_models._vision_windows import VisionWindows

MECHANISMS = ('packed', 'lazy', 'expand', 'plain')

_LOG = logging.getLogger(__name__)
_ATTENTION = {'full_attention', 'sliding_attention'}
_NOWHERE = 1 << 30
_NO_DEADLINE = math.inf
_GIB = 2.0 ** 30
_CPU_GB = 2.0
_ROW_TOKENS = {'cuda': 512, 'cpu': 384}
_PASS_TOKENS = {'cuda': 4096, 'cpu': 768}
_TOLERANCE = {torch.float32: 2e-3, torch.float16: 0.05, torch.bfloat16: 0.1}
"""Root mean square difference of logits, as a fraction of their spread, that may be rounding."""
_EXACT = 2e-3
"""Difference of results that is small enough to be rounding."""
_UNFIT = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError,
          NotImplementedError, AssertionError)
"""Exceptions of a model's code when a mechanism does not suit it."""

Inputs = Mapping[str, Tensor]
T = TypeVar('T')


@dataclass(frozen=True, eq=False)
class Prefix:
    """A shared prompt, encoded.

    Attributes:
        inputs: the model's inputs it was made from, on the model's device.
        length: its tokens.
        shift: position of the next token less ``length`` (images count otherwise in models with
            multimodal rotary positions); a 0-d tensor, or 0.
        cache: keys and values, never written to; None for ``plain``.
    """

    inputs: dict[str, Tensor]
    length: int
    shift: Tensor | int
    cache: Any


@dataclass(frozen=True, slots=True)
class Scores:
    """Probabilities of the first token after each suffix.

    Attributes:
        masses: (N, G) float64, probability of each group of tokens, over the whole vocabulary.
        top: ids of the most probable tokens.
    """

    masses: np.ndarray[Any, np.dtype[np.float64]]
    top: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decoded:
    """A greedy continuation of a prompt.

    Attributes:
        tokens: its token ids, the one that stopped it included.
        masses: per token, the probability of each group of tokens at its place.
        finished: whether it stopped by itself; else at the limit.
    """

    tokens: tuple[int, ...]
    masses: tuple[tuple[float, ...], ...]
    finished: bool


Job = tuple[tuple[int, ...], ...]
"""The rows of one pass, each of the suffixes that share it, by their places in the request."""


class SharedPrefix:
    """The engine; see the module. Not thread-safe: models with positions keep them as state.

    Args:
        model: in evaluation mode, on its device or devices.
        mechanism: one of ``MECHANISMS``, or 'auto'.
        memory_gb: bound on a pass's memory beyond weights and encoded prompt [GiB]; 0 for half
            of what is free on a GPU, 2 GiB on a CPU.
        row_tokens: most tokens in a row of ``packed``; 0 for what was measured to be best.
        pass_tokens: most tokens in a pass, likewise.
        remedy: what the user can do when memory runs out, put into the error.
    """

    def __init__(self, model: Any, mechanism: str = 'auto', memory_gb: float = 0.0,
                 row_tokens: int = 0, pass_tokens: int = 0,
                 remedy: str = 'lower memory_gb') -> None:
        self._model = model
        self._wanted = mechanism
        self._memory_gb = memory_gb
        self._remedy = remedy
        self._text = model.config.get_text_config()
        kinds = getattr(self._text, 'layer_types', None)
        window = getattr(self._text, 'sliding_window', None)
        self._kinds = frozenset(kinds or ['full_attention'])
        self._window = window if kinds is None or 'sliding_attention' in self._kinds else None
        self._window_unsure = kinds is None and window is not None
        self._positioned = [m for m in model.modules() if hasattr(m, 'rope_deltas')]
        self._head: Any = model.get_output_embeddings()
        """Layer that makes logits of hidden states; None where it takes no fewer tokens."""
        self._device = model.get_input_embeddings().weight.device
        self._dtype = model.get_input_embeddings().weight.dtype
        if not self._dtype.is_floating_point:
            self._dtype = model.dtype
        where = 'cuda' if self._device.type == 'cuda' else 'cpu'
        self._row_tokens = row_tokens or _ROW_TOKENS[where]
        self._pass_tokens = pass_tokens or max(_PASS_TOKENS[where], self._row_tokens)
        self._masked = getattr(model.config, '_attn_implementation', 'sdpa') in ('sdpa', 'eager')
        self._windows = VisionWindows(model)
        self._keeps = 'logits_to_keep' in inspect.signature(model.forward).parameters
        self._quantised = getattr(model, 'hf_quantizer', None) is not None
        self._index: dict[tuple[int, ...], Tensor] = {}
        self._mechanism = mechanism if mechanism != 'auto' else self._candidates()[0]
        self._reason = ''
        self.probed: np.ndarray[Any, np.dtype[np.float64]] = np.zeros((0, 0))
        """(N, G) probabilities of the last ``choose``."""

    @property
    def mechanism(self) -> str:
        """Name of the mechanism in use."""
        return self._mechanism

    @property
    def reason(self) -> str:
        """Reason why no faster mechanism than the one in use works; '' if there is none."""
        return self._reason

    @property
    def device(self) -> torch.device:
        """Device of the model's inputs."""
        device: torch.device = self._device
        return device

    # The choice of a mechanism -----------------------------------------------------------------

    def _candidates(self) -> list[str]:
        if self._wanted != 'auto':
            return [self._wanted]
        sharing = (['packed'] if self._masked else []) + ['lazy', 'expand']
        return (sharing if self._kinds <= _ATTENTION else ['expand']) + ['plain']

    def choose(self, inputs: Inputs, suffixes: Sequence[Suffix],
               whole: Sequence[Inputs] | None = None,
               groups: Sequence[Sequence[int]] = ()) -> str:
        """Find the first mechanism whose logits equal those of one prompt at a time.

        Args:
            inputs: a prompt with an image.
            suffixes: at least two, of unlike length, with unlike ends.
            whole: the same questions as whole prompts, by default prompt and suffix joined.
            groups: tokens whose probabilities after the questions are kept as ``probed``.

        Raises:
            BackendError: the model cannot be run at all, or a mechanism was asked for by name
                and does not suit it.
        """
        try:
            with self._enough_memory('for a prompt'):
                plain = self._one_by_one(whole or [self.joined(inputs, s) for s in suffixes])
        except BackendError:
            raise
        except _UNFIT as error:
            raise BackendError(f'the model cannot be run ({type(error).__name__}: '
                               f'{_first_line(error)})') from error
        self.probed = np.asarray(self._read(plain, groups)[:, 1:].tolist())
        limit = max(_TOLERANCE.get(self._dtype, 0.1), 0.15 if self._quantised else 0.0)
        ahead = self._looks_ahead(inputs, suffixes[0])
        found = ['the tokens of its image attend to the question'] if ahead else []
        for name in self._candidates():
            if name == 'plain' or ahead:
                break
            self._mechanism = name
            try:
                prefix = self.encode(inputs)
                gap = _gap(self._all_logits(prefix, suffixes), plain)
                right = gap <= limit and (gap <= _EXACT or self._is_rounding(
                    gap, 0.3 * limit, prefix, suffixes, plain))
            except torch.OutOfMemoryError:
                raise
            except _UNFIT as error:
                found.append(f'{name} fails ({type(error).__name__}: {_first_line(error)})')
                continue
            if right:
                self._reason = '; '.join(found)
                _LOG.info('questions share their image: mechanism %s, logits differ by %.1g of '
                          'their spread from those of one prompt at a time', name, gap)
                return name
            found.append(f'{name} gives other logits (by {gap:.2g} of their spread)')
        if self._windows.wanted and not ahead and self._wanted != 'plain':
            _LOG.info('windows of the vision tower one by one: %s', '; '.join(found))
            self._windows.wanted = False
            return self.choose(inputs, suffixes, whole, groups)
        self._mechanism, self._reason = 'plain', '; '.join(found)
        if self._wanted not in ('auto', 'plain'):
            raise BackendError(f'mechanism {self._wanted!r} does not suit this model: '
                               f'{self._reason}; use mechanism auto')
        if found:
            _LOG.warning('%s: this architecture cannot share the image between questions, each '
                         'question pays for it again: %s', type(self._model).__name__,
                         self._reason)
        return 'plain'

    def _is_rounding(self, gap: float, small: float, prefix: Prefix, suffixes: Sequence[Suffix],
                     plain: Tensor) -> bool:
        """Whether rounding explains a gap, judged by the gap that shifted positions cause.

        Positions wrong by one make a gap that shrinks as they are moved; any other mistake makes
        one no smaller than that move does. Rounding is far below; where it is not, because
        positions hardly matter to the model, a ``small`` gap is let pass unless a move shrinks it.
        """
        moved = min(_gap(self._all_logits(replace(prefix, shift=prefix.shift + step), suffixes),
                         plain) for step in (1, -1))
        return gap < moved / 3 or (gap <= small and moved > 0.7 * gap)

    def give_up(self) -> None:
        """Ask one prompt at a time, for a reason that lies outside the model."""
        self._mechanism, self._reason = 'plain', 'the image stands after the question'

    def _looks_ahead(self, inputs: Inputs, suffix: Suffix) -> bool:
        """Whether the prompt is encoded differently if tokens follow it."""
        try:
            with torch.inference_mode():
                alone, followed = (self._prefill(i)[0] for i in (
                    self.placed(inputs), self.joined(inputs, suffix)))
            length = inputs['input_ids'].shape[1]
            return any(_gap(b.keys[..., :length, :], a.keys[..., :length, :]) > 0.1
                       for a, b in zip(alone.layers, followed.layers, strict=True)
                       if isinstance(a, DynamicLayer))
        except _UNFIT:
            return False

    # Inputs ------------------------------------------------------------------------------------

    def placed(self, inputs: Inputs) -> dict[str, Tensor]:
        """Inputs on the model's device, pixels in its precision."""
        return {name: value.to(self._device, self._dtype if value.is_floating_point() else None)
                if isinstance(value, Tensor) else value for name, value in inputs.items()}

    def joined(self, inputs: Inputs, suffix: Sequence[int]) -> dict[str, Tensor]:
        """Inputs of a prompt followed by more text: ids longer, masks 1, token types 0."""
        inputs = self.placed(inputs)
        if not suffix:
            return inputs
        ids = inputs['input_ids']
        tail = torch.tensor([suffix], dtype=ids.dtype, device=self._device)
        whole = {}
        for name, value in inputs.items():
            if name == 'input_ids':
                value = torch.cat([value, tail], 1)
            elif getattr(value, 'shape', None) == ids.shape:
                fill = torch.ones_like if name == 'attention_mask' else torch.zeros_like
                value = torch.cat([value, fill(tail).to(value.dtype)], 1)
            whole[name] = value
        return whole

    # Encoding ----------------------------------------------------------------------------------

    def encode(self, inputs: Inputs, more: Sequence[int] = ()) -> Prefix:
        """Encode a prompt, followed by the text ``more`` if there is any.

        Raises:
            BackendError: the memory does not suffice.
        """
        whole = self.joined(inputs, more)
        length = int(whole['input_ids'].shape[1])
        if self._mechanism == 'plain':
            return Prefix(whole, length, 0, None)
        with (self._enough_memory(f'to encode a prompt of {length} tokens',
                                  'show a smaller image, or '), torch.inference_mode()):
            cache, shift = self._prefill(whole)
        return Prefix(whole, length, shift, cache)

    def _prefill(self, whole: dict[str, Tensor]) -> tuple[Any, Tensor | int]:
        known = self._head
        try:
            cache = self._filled(whole)
        except _UNFIT:
            if self._head is known:
                raise
            cache = self._filled(whole)
        shift: Tensor | int = 0
        for module in self._positioned:
            if module.rope_deltas is not None:
                shift = module.rope_deltas.reshape(-1)[0].to(self._device)
        return cache, shift

    def _filled(self, whole: dict[str, Tensor]) -> Any:
        # Caches of transformers that drop what is outside a sliding window would hide where their
        # keys stand; full ones give the same numbers, the masks see to the window.
        cache = (DynamicCache() if self._kinds <= _ATTENTION
                 else DynamicCache(config=self._text))
        self._forget_positions()
        with self._windows.together():
            self._run([whole['input_ids'].shape[1] - 1], **whole, past_key_values=cache)
        return cache

    def _forget_positions(self) -> None:
        for module in self._positioned:
            module.rope_deltas = None

    # Scoring -----------------------------------------------------------------------------------

    def score(self, prefix: Prefix, suffixes: Sequence[Suffix],
              groups: Sequence[Sequence[int]] = (), deadline: float = _NO_DEADLINE) -> Scores:
        """Distribution of the token after each suffix.

        Args:
            prefix: what all suffixes follow.
            suffixes: token ids, N of them.
            groups: tokens whose probabilities are summed.
            deadline: by ``time.monotonic()`` [s].

        Raises:
            DeadlineError: later than ``deadline``; looked at between passes. Its ``partial`` has
                the scores of each suffix that was ready, as of one suffix alone.
            BackendError: the memory does not suffice, even with a halved pass.
        """
        masses = np.zeros((len(suffixes), len(groups)))
        top = np.zeros(len(suffixes), np.int64)
        ready: set[int] = set()
        try:
            for members, logits in self.logits(prefix, suffixes, deadline):
                read = np.asarray(self._read(logits, groups).tolist())
                del logits  # or they would still be there while the next are made
                top[list(members)], masses[list(members)] = (read[:, 0].astype(np.int64),
                                                             read[:, 1:])
                ready.update(members)
        except DeadlineError as error:
            error.partial = [Scores(np.clip(masses[row:row + 1], 0.0, 1.0), (int(top[row]),))
                             if row in ready else None for row in range(len(suffixes))]
            raise
        return Scores(np.clip(masses, 0.0, 1.0), tuple(top.tolist()))

    def score_whole(self, whole: Sequence[Inputs],
                    groups: Sequence[Sequence[int]] = ()) -> Scores:
        """Distribution of the token after whole prompts, each of which is run separately.

        Raises:
            BackendError: the memory does not suffice.
        """
        with self._enough_memory('for a prompt'):
            read = np.asarray(self._read(self._one_by_one(whole), groups).tolist())
        return Scores(np.clip(read[:, 1:], 0.0, 1.0),
                      tuple(read[:, 0].astype(np.int64).tolist()))

    @torch.inference_mode()
    def _read(self, logits: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
        """(n, 1 + G): the most probable token and each group's probability, in one tensor."""
        chances = logits.float().softmax(-1)
        columns = [chances.argmax(-1).float()]
        for ids in groups:
            key = tuple(ids)
            if key not in self._index or self._index[key].device != chances.device:
                self._index[key] = torch.tensor(key, device=chances.device)
            columns.append(chances[:, self._index[key]].sum(-1))
        return torch.stack(columns, 1)

    def logits(self, prefix: Prefix, suffixes: Sequence[Suffix],
               deadline: float = _NO_DEADLINE) -> Iterator[tuple[tuple[int, ...], Tensor]]:
        """Logits of the token after each suffix, a pass at a time.

        Yields:
            Indices of n suffixes and their (n, V) logits.
        """
        if any(not suffix for suffix in suffixes):
            raise ValueError('a suffix must hold one token at least')
        if self._mechanism == 'plain':
            for i, suffix in enumerate(suffixes):
                _check(deadline, i, len(suffixes))
                yield (i,), self._one_by_one([self.joined(prefix.inputs, suffix)])
            return
        packed = self._mechanism == 'packed' and self._mask_is_sure(prefix, suffixes)
        run = self._packed if packed else self._padded
        yield from self._halving(
            self._jobs(prefix, suffixes, packed), lambda job: run(prefix, suffixes, job),
            lambda members: self._rows(members, suffixes, packed), 'score', 'questions',
            deadline, len(suffixes))

    def _halving(self, pending: list[Job], run: Callable[[Job], T],
                 rows: Callable[[tuple[int, ...]], Job], verb: str, noun: str,
                 deadline: float, total: int) -> Iterator[tuple[tuple[int, ...], T]]:
        """Run jobs of ``total`` suffixes; if memory runs out, the remaining ones are halved, once.

        Yields:
            Indices of suffixes, and their result.
        """
        halved, done = False, 0
        while pending:
            _check(deadline, done, total)
            members = tuple(i for row in pending[0] for i in row)
            try:
                with torch.inference_mode():
                    result = run(pending[0])
            except torch.OutOfMemoryError as error:
                if halved or len(members) == 1:
                    raise BackendError(
                        f'not enough memory to {verb} {len(members)} {noun} at once '
                        f'({_first_line(error)}); {self._remedy}') from error
                halved = True
            else:
                del pending[0]
                done += len(members)
                yield members, result
                del result  # or it would still be there while the next is made
                continue
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            _LOG.warning('out of memory with %d %s at once: trying half as many', len(members),
                         noun)
            pending = [rows(half) for job in pending
                       for half in halves(tuple(i for row in job for i in row))]

    @contextlib.contextmanager
    def _enough_memory(self, what: str, remedy: str = '') -> Iterator[None]:
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise BackendError(f'not enough memory {what} ({_first_line(error)}); '
                               f'{remedy}{self._remedy}') from error

    def _all_logits(self, prefix: Prefix, suffixes: Sequence[Suffix]) -> Tensor:
        rows: list[Any] = [None] * len(suffixes)
        for members, logits in self.logits(prefix, suffixes):
            for i, row in zip(members, logits, strict=True):
                rows[i] = row
        return torch.stack(rows)

    def _one_by_one(self, whole: Sequence[Inputs]) -> Tensor:
        """Reference: (N, V) logits after whole prompts, each of which is run separately."""
        rows = []
        for inputs in whole:
            self._forget_positions()
            with torch.inference_mode():
                last = {'logits_to_keep': 1} if self._keeps else {}
                rows.append(self._model(**self.placed(inputs), use_cache=False,
                                        **last).logits[0, -1])
        return torch.stack(rows)

    def _mask_is_sure(self, prefix: Prefix, suffixes: Sequence[Suffix], more: int = 0) -> bool:
        """Whether the mask is known: a configuration may name a window that is not in use."""
        return (self._window is None or not self._window_unsure
                or prefix.length + max(map(len, suffixes)) + more <= self._window)

    # What goes into one pass -------------------------------------------------------------------

    def _budget(self) -> float:
        """Bytes one pass may take."""
        if self._memory_gb > 0:
            return self._memory_gb * _GIB
        if self._device.type != 'cuda':
            return _CPU_GB * _GIB
        free, _ = torch.cuda.mem_get_info(self._device)
        cached = (torch.cuda.memory_reserved(self._device)
                  - torch.cuda.memory_allocated(self._device))
        return 0.5 * (free + cached)

    def pass_bytes(self, rows: int, width: int, prefix: int, kept: int, grown: int = 0) -> float:
        """Estimated memory of a pass, beyond weights and encoded prompt [bytes].

        Args:
            rows: batch size.
            width: tokens in a row.
            prefix: tokens of the shared prompt.
            kept: tokens whose logits are wanted; without a known head all are made.
            grown: tokens that each row's own keys and values will hold (0: thrown away).
        """
        text, size = self._text, self._dtype.itemsize
        heads = getattr(text, 'num_attention_heads', 1)
        hidden = text.hidden_size
        head = getattr(text, 'head_dim', None) or hidden // heads
        shared = getattr(text, 'num_key_value_heads', None) or heads
        layers = text.num_hidden_layers
        inner = getattr(text, 'intermediate_size', None) or 4 * hidden
        seen, tokens = prefix + max(width, grown), rows * width
        keys = 2 * rows * seen * head * size * (shared + (heads if heads > shared else 0))
        kinds = 2 if self._window is not None else 1
        masks = tokens * seen * (3 + kinds * size)
        if getattr(self._model.config, '_attn_implementation', '') == 'eager':
            masks += tokens * seen * heads * (size + 4)
        activations = tokens * size * (6 * hidden + 3 * inner)
        if self._head is None:
            logits = tokens * text.vocab_size * size + kept * text.vocab_size * (size + 8)
        else:
            logits = kept * text.vocab_size * (size + 8)
        own = 2 * rows * layers * shared * head * size * grown
        if self._mechanism == 'expand':
            own += 2 * 2 * rows * layers * shared * head * size * prefix
        return float(keys + masks + activations + logits + own)

    def _jobs(self, prefix: Prefix, suffixes: Sequence[Suffix], packed: bool) -> list[Job]:
        """Cut a request into passes within the bounds on memory and tokens."""
        budget = self._budget()
        longest = max(map(len, suffixes), default=0)
        width = max(self._row_tokens, longest)
        rows: Sequence[tuple[int, ...]]
        if not packed:
            rows = [(i,) for i in sorted(range(len(suffixes)), key=lambda i: len(suffixes[i]))]
        else:
            while width > longest and self.pass_bytes(1, width, prefix.length,
                                                      1 + width // longest) > budget:
                width = max(longest, width // 2)
            rows = rows_of(sorted(range(len(suffixes)), key=lambda i: suffixes[i]), suffixes,
                           width)

        def fits(job: Job) -> bool:
            members = [i for row in job for i in row]
            size = width if packed else max(len(suffixes[i]) for i in members)
            return (len(job) * size <= self._pass_tokens and self.pass_bytes(
                len(job), size, prefix.length, len(members)) <= budget)

        return _grouped(rows, fits)

    def _rows(self, members: tuple[int, ...], suffixes: Sequence[Suffix], packed: bool) -> Job:
        if not packed:
            return tuple((i,) for i in members)
        width = max(self._row_tokens, *(len(suffixes[i]) for i in members))
        return tuple(rows_of(members, suffixes, width))

    # The passes --------------------------------------------------------------------------------

    def _run(self, places: Sequence[int], **inputs: Any) -> Tensor:
        """Run one forward pass.

        Logits are made of the wanted tokens only, whichever they are: what enters the model's
        output layer is cut down to them. (``logits_to_keep`` of transformers would make those of
        whole columns, and not every model knows it.)

        Args:
            places: of N tokens, counted row by row: row * width + column.
            inputs: of the model.

        Returns:
            (N, V) logits.

        Raises:
            RuntimeError: the output layer does not do with fewer tokens; it is let be from now on.
        """
        shape = inputs['input_ids'].shape
        inputs.setdefault('use_cache', True)
        cut = 0

        def pick(module: Any, args: tuple[Any, ...]) -> Any:
            nonlocal cut
            if args and isinstance(args[0], Tensor) and args[0].shape[:2] == shape:
                cut += 1
                hidden = args[0].flatten(0, 1)
                index = torch.tensor(places, device=hidden.device)
                return (hidden[index][None], *args[1:])
            return None

        hook = self._head and self._head.register_forward_pre_hook(pick)
        try:
            logits: Tensor = self._model(**inputs).logits
            if cut and (cut, *logits.shape[:2]) != (1, 1, len(places)):
                raise RuntimeError('the output layer is used in an unknown way')
        except torch.OutOfMemoryError:
            raise
        except _UNFIT:
            self._head = None if cut else self._head
            raise
        finally:
            if hook:
                hook.remove()
        if cut:
            return logits[0]
        self._head = None
        logits = logits.flatten(0, 1)
        return logits[torch.tensor(places, device=logits.device)]

    def _packed(self, prefix: Prefix, suffixes: Sequence[Suffix], job: Job) -> Tensor:
        trees = [tree_of([suffixes[i] for i in row]) for row in job]
        width = max(len(tree.ids) for tree in trees)
        if self._device.type == 'cuda':
            width += -(prefix.length + width) % 8  # or masked kernels pad the mask at each layer
        # ids, depth, preorder index and end of each token:
        table = np.zeros((4, len(trees), width), np.int64)
        table[2:] = _NOWHERE
        places = []
        for r, tree in enumerate(trees):
            for k, values in enumerate((tree.ids, tree.depth, range(len(tree.ids)), tree.end)):
                table[k, r, :len(tree.ids)] = values
            places += [r * width + node for node in tree.last]
        ids, depth, enter, end = torch.from_numpy(table).to(self._device).unbind(0)
        seen = ((enter[:, None, :] <= enter[:, :, None])
                & (enter[:, :, None] < end[:, None, :]))
        return self._run(
            places, input_ids=ids, attention_mask=self._mask(prefix.length, depth, depth, seen),
            position_ids=depth + prefix.length + prefix.shift,
            past_key_values=widening(prefix.cache))

    def _mask(self, length: int, query: Tensor, key: Tensor, seen: Tensor) -> Any:
        """Additive mask, or one for each kind of attention layer.

        Args:
            length: tokens of the prompt, which everybody sees.
            query: (R, Q) depths of the tokens that look.
            key: (R, K) depths of the tokens after the prompt that are looked at.
            seen: (R, Q, K) who sees whom.
        """
        rows, width = query.shape
        low = torch.finfo(self._dtype).min
        full = torch.zeros((rows, 1, width, length + key.shape[1]), dtype=self._dtype,
                           device=self._device)
        full[:, 0, :, length:].masked_fill_(~seen, low)
        if self._window is None:
            return full
        depth = torch.cat([torch.arange(-length, 0, device=self._device).expand(rows, -1), key],
                          1)
        far = query[:, :, None] - depth[:, None, :] >= self._window
        sliding = full.masked_fill(far[:, None], low)
        if self._window_unsure or self._kinds == {'sliding_attention'}:
            return sliding
        return {'full_attention': full, 'sliding_attention': sliding}

    def _padded(self, prefix: Prefix, suffixes: Sequence[Suffix], job: Job) -> Tensor:
        logits, *_ = self._start(prefix, [suffixes[i] for i, in job], keep=False,
                                 explicit=False)
        return logits

    def _start(self, prefix: Prefix, suffixes: Sequence[Suffix], keep: bool,
               explicit: bool) -> tuple[Tensor, Any, Tensor, Tensor]:
        """Run suffixes as rows, padded on the right.

        Args:
            prefix: what they follow.
            suffixes: N suffixes, the longest of L tokens.
            keep: whether their keys and values will be needed.
            explicit: whether to give the model explicit masks, or padding masks.

        Returns:
            (N, V) logits after each, the cache, (N, L) depths, (N, L) which are tokens.
        """
        lengths = [len(suffix) for suffix in suffixes]
        table = np.zeros((3, len(suffixes), max(lengths)), np.int64)
        for i, suffix in enumerate(suffixes):
            table[0, i, :len(suffix)] = suffix
            table[1, i] = np.arange(table.shape[2])
            table[2, i, :len(suffix)] = 1
        ids, depth, real = torch.from_numpy(table).to(self._device).unbind(0)
        filled = real.bool()
        rows = len(suffixes)
        if self._mechanism == 'expand':
            cache = copy.deepcopy(prefix.cache)
            cache.reorder_cache(torch.zeros(rows, dtype=torch.long, device=self._device))
        else:
            cache = widening(prefix.cache, keep)
        if explicit:
            seen = filled[:, None, :] & (depth[:, None, :] <= depth[:, :, None])
            mask = self._mask(prefix.length, depth, depth, seen)
        else:
            mask = torch.cat([real.new_ones(rows, prefix.length), real], 1)
        logits = self._run(
            [row * ids.shape[1] + length - 1 for row, length in enumerate(lengths)],
            input_ids=ids, attention_mask=mask, past_key_values=cache,
            position_ids=depth + prefix.length + prefix.shift)
        return logits, cache, depth, filled

    # Decoding ----------------------------------------------------------------------------------

    def decode(self, prefix: Prefix, suffixes: Sequence[Suffix], limit: int,
               stop: Collection[int], groups: Sequence[Sequence[int]] = (),
               done: Callable[[list[int]], bool] | None = None,
               deadline: float = _NO_DEADLINE) -> list[Decoded]:
        """Continue each suffix greedily, many in one batch, which finished ones leave.

        Args:
            prefix: what all suffixes follow.
            suffixes: token ids.
            limit: most tokens of a continuation.
            stop: ids that end one.
            groups: tokens whose probabilities are summed, at each place.
            done: given the tokens so far, whether to end.
            deadline: by ``time.monotonic()`` [s].

        Raises:
            DeadlineError: later than ``deadline``; looked at between tokens.
            BackendError: the memory does not suffice, even with a halved batch.
        """
        if self._mechanism == 'plain':
            return [self.generate(self.joined(prefix.inputs, suffix), limit, stop, groups, done,
                                  deadline) for suffix in suffixes]
        explicit = (self._mechanism == 'packed' and bool(suffixes)
                    and self._mask_is_sure(prefix, suffixes, limit))
        replies: list[Any] = [None] * len(suffixes)
        for members, texts in self._halving(
                self._batches(prefix, suffixes, limit, explicit),
                lambda job: self._decode(prefix, [suffixes[i] for i, in job], limit, stop, groups,
                                         done, deadline, explicit),
                lambda members: tuple((i,) for i in members), 'write', 'answers',
                _NO_DEADLINE, len(suffixes)):
            for i, text in zip(members, texts, strict=True):
                replies[i] = text
        return replies

    def _batches(self, prefix: Prefix, suffixes: Sequence[Suffix], limit: int,
                 explicit: bool) -> list[Job]:
        """Batches of suffixes that are continued together.

        Where the model makes its masks itself, gaps after short suffixes would count in sliding
        windows and enter recurrent states: there a batch holds suffixes of one length.
        """
        level = not explicit and bool(suffixes) and (
            self._kinds != {'full_attention'} or not self._mask_is_sure(prefix, suffixes, limit))
        budget = self._budget()

        def fits(job: Job) -> bool:
            lengths = [len(suffixes[i]) for i, in job]
            return not (level and min(lengths) < max(lengths)) and self.pass_bytes(
                len(job), max(lengths), prefix.length, len(job), max(lengths) + limit) <= budget

        order = sorted(range(len(suffixes)), key=lambda i: len(suffixes[i]))
        return _grouped([(i,) for i in order], fits)

    def _decode(self, prefix: Prefix, suffixes: Sequence[Suffix], limit: int,
                stop: Collection[int], groups: Sequence[Sequence[int]],
                done: Callable[[list[int]], bool] | None, deadline: float,
                explicit: bool) -> list[Decoded]:
        _check(deadline, 0, len(suffixes))
        logits, cache, depth, real = self._start(prefix, suffixes, True, explicit)
        read = self._read(logits, groups)
        del logits  # or they would still be there while the next are made
        nexts = real.sum(1)
        alive = list(range(len(suffixes)))
        tokens: list[list[int]] = [[] for _ in suffixes]
        masses: list[list[tuple[float, ...]]] = [[] for _ in suffixes]
        finished = [False] * len(suffixes)
        for step in range(limit):
            for i, (token, *chances) in zip(alive, read.tolist(), strict=True):
                tokens[i].append(int(token))
                masses[i].append(tuple(min(1.0, chance) for chance in chances))
                finished[i] = int(token) in stop or (done is not None and done(tokens[i]))
            stay = [row for row, i in enumerate(alive) if not finished[i]]
            alive = [alive[row] for row in stay]
            if not alive or step + 1 == limit:
                break
            _check(deadline, len(suffixes) - len(alive), len(suffixes))
            last = read[:, 0].long().to(self._device)
            if len(stay) < len(nexts):
                kept = torch.tensor(stay, device=self._device)
                last, nexts, depth, real = last[kept], nexts[kept], depth[kept], real[kept]
                cache.reorder_cache(kept)
            depth = torch.cat([depth, nexts[:, None]], 1)
            real = torch.cat([real, real.new_ones(len(alive), 1)], 1)
            if explicit:
                mask = self._mask(prefix.length, nexts[:, None], depth, real[:, None, :])
            else:
                mask = torch.cat([real.new_ones(len(alive), prefix.length), real], 1).long()
            read = self._read(self._run(
                range(len(alive)), input_ids=last[:, None], attention_mask=mask,
                past_key_values=cache,
                position_ids=nexts[:, None] + prefix.length + prefix.shift), groups)
            nexts = nexts + 1
        return [Decoded(tuple(t), tuple(m), f)
                for t, m, f in zip(tokens, masses, finished, strict=True)]

    def generate(self, inputs: Inputs, limit: int, stop: Collection[int],
                 groups: Sequence[Sequence[int]] = (),
                 done: Callable[[list[int]], bool] | None = None,
                 deadline: float = _NO_DEADLINE, sampling: Sampling | None = None) -> Decoded:
        """Continue one whole prompt with the model's own ``generate``, greedily or by sampling.

        Raises:
            DeadlineError: later than ``deadline``.
            BackendError: the memory does not suffice.
        """
        whole = self.placed(inputs)
        length = whole['input_ids'].shape[1]
        watch = Watch(lambda scores: self._read(scores, groups), length, done, deadline)
        _check(deadline, 0, 1)
        self._forget_positions()
        drawn: dict[str, Any] = {'do_sample': False, 'temperature': 1.0, 'top_p': 1.0, 'top_k': 50}
        if sampling is not None:
            drawn = sampling.options
        with (self._enough_memory(f'to answer a prompt of {length} tokens',
                                  'show smaller or fewer images, or '), torch.inference_mode(),
              contextlib.nullcontext() if sampling is None else sampling.seeded(inputs)):
            ids = self._model.generate(
                **whole, generation_config=GenerationConfig(
                    max_new_tokens=limit, num_beams=1, **drawn,
                    repetition_penalty=1.0, no_repeat_ngram_size=0,
                    eos_token_id=sorted(stop) or None, pad_token_id=min(stop, default=0)),
                logits_processor=LogitsProcessorList([watch.reader] if groups else []),
                stopping_criteria=StoppingCriteriaList([watch]))
        _check(deadline, 0, 1)
        tokens = tuple(ids[0, length:].tolist())
        return Decoded(tokens, tuple(watch.masses),
                       watch.finished or (bool(tokens) and tokens[-1] in stop))


def _gap(a: Tensor, b: Tensor) -> float:
    """Root mean square difference as a fraction of b's spread."""
    a, b = a.float(), b.float().to(a.device)
    gap = ((a - b).square().mean().sqrt() / b.std().clamp_min(1e-12)).item()
    return float(gap) if math.isfinite(gap) else math.inf


def _check(deadline: float, done: int, total: int) -> None:
    """Raise a DeadlineError if it is too late."""
    if time.monotonic() > deadline:
        raise DeadlineError(f'the time limit passed with {done} of {total} answers ready')


def _grouped(rows: Sequence[tuple[int, ...]], fits: Callable[[Job], bool]) -> list[Job]:
    """Pack rows in order into as few jobs as possible.

    A row that never fits is a job by itself.
    """
    jobs: list[Job] = []
    for row in rows:
        if jobs and fits((*jobs[-1], row)):
            jobs[-1] = (*jobs[-1], row)
        else:
            jobs.append((row,))
    return jobs


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
