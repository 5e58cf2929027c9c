"""``embedded``: a small vision-language model that comes with the package and runs on the CPU.

The model is an ordinary transformers folder (``../embedded_model``); nothing here depends on what
it was trained for, so another small image-text-to-text model with full attention can be named in
``model_dir``. The image is encoded once; all questions follow it in one packed sequence in which
each sees the image and itself only, which gives the same numbers as asking one by one.
"""

from __future__ import annotations

import copy
import hashlib
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError, DeadlineError, param
from sightplan.vlm.api import (
    TextReply,
    TextRequest,
    YesNoReply,
    YesNoRequest,
    cannot_generate,
)

SHIPPED = Path(__file__).resolve().parent.parent / 'embedded_model'
"""Folder of the model that comes with the package."""

_SENTINEL = 'QUESTION-GOES-HERE'
_PROBES = ('Is the red block the topmost of its column?',
           'Is the column labeled "c1" to the left of the column labeled "c2"?')
_TOLERANCE = 1e-3
_LEAST_PX = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """How the embedded model runs."""

    model_dir: str = param('', 'folder of the model; empty for the one that is shipped')
    threads: int = param(1, 'CPU threads of the model', low=1, high=256)
    chunk: int = param(160, 'most questions in one packed pass', low=1, high=4096)


class Backend:
    """Answers from one token's probabilities; ready (loaded, checked, warm) once constructed.

    Args:
        settings: see Settings; the number of threads holds for torch in the whole process.

    Raises:
        BackendError: a library or the model folder is missing or unfit; says what to do.
    """

    needs_truth = False
    generates = False
    needs_pixels = True

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        folder = Path(self._settings.model_dir) if self._settings.model_dir else SHIPPED
        self._name = _identity(folder)
        self._torch, self._processor, self._model = _load(folder, self._settings.threads)
        self._lock = threading.Lock()
        self._yes, self._no = _answer_ids(self._processor.tokenizer)
        self._prefix, self._before, self._after = self._split_prompt()
        self._tail = lru_cache(maxsize=65536)(self._tail_ids)
        self._check()

    @property
    def model(self) -> str:
        """Folder name and hash of the weights, for example ``embedded_model@0f3a5c...``."""
        return self._name

    @property
    def usage(self) -> None:
        """Nobody counts."""

    def generate(self, request: TextRequest) -> TextReply:
        """This backend cannot.

        Raises:
            InputError: always.
        """
        raise cannot_generate('embedded')

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions about one image in one batched pass.

        Raises:
            BackendError: there is no usable image, or a question holds a picture's token.
            DeadlineError: the answers came later than the request's ``timeout_s``.
        """
        started = time.monotonic()
        image = _checked(request.observation.image)
        tails = [self._tail(question.text) for question in request.questions]
        if not tails:
            return []
        with self._lock:
            replies = self._score(self._pixels(image), tails)
        elapsed = time.monotonic() - started
        if request.timeout_s is not None and elapsed > request.timeout_s:
            raise DeadlineError(f'embedded: {len(tails)} answers took {elapsed:.2f} s, the limit '
                                f'was {request.timeout_s:.2f} s')
        return replies

    def answer_one_by_one(self, request: YesNoRequest) -> list[YesNoReply]:
        """The plain way, each question with its own copy of the image: slow, for comparison."""
        from PIL import Image

        torch = self._torch
        replies: list[YesNoReply] = []
        picture = Image.fromarray(_checked(request.observation.image))
        for question in request.questions:
            prompt = self._prompt(question.text)
            inputs = self._processor(text=[prompt], images=[picture], return_tensors='pt')
            with torch.inference_mode():
                logits = self._model(**inputs).logits[:, -1]
            replies += self._read(logits)
        return replies

    def _prompt(self, question: str) -> str:
        return str(self._processor.apply_chat_template(
            [{'role': 'user', 'content': [{'type': 'image'}, {'type': 'text', 'text': question}]}],
            add_generation_prompt=True))

    def _split_prompt(self) -> tuple[Any, str, str]:
        """Token ids up to the image's last token; the text between it, the question and the end.

        Checked against the processor itself on a real question.
        """
        from PIL import Image

        mark = self._processor.image_token
        _, found, tail = self._prompt(_SENTINEL).rpartition(mark)
        before, asked, after = tail.partition(_SENTINEL)
        if not found or not asked:
            raise BackendError('embedded: the chat template does not put the question after the '
                               'image; choose another model_dir')
        picture = Image.new('RGB', (640, 480), (128, 128, 128))
        ids = self._processor(text=[self._prompt(_PROBES[0])], images=[picture],
                              return_tensors='pt')['input_ids']
        image_id = self._processor.tokenizer.convert_tokens_to_ids(mark)
        last = int((ids[0] == image_id).nonzero()[-1])
        probe = self._processor.tokenizer(before + _PROBES[0] + after,
                                          add_special_tokens=False)['input_ids']
        if ids[0, last + 1:].tolist() != list(probe):
            raise BackendError('embedded: the tokenizer joins image and question; choose another '
                               'model_dir')
        return ids[:, :last + 1], before, after

    def _tail_ids(self, question: str) -> tuple[int, ...]:
        ids = tuple(self._processor.tokenizer(self._before + question + self._after,
                                              add_special_tokens=False)['input_ids'])
        if self._processor.image_token in question or not ids:
            raise BackendError(f'embedded: the question {question!r} holds the image token')
        return ids

    def _pixels(self, image: Any) -> Any:
        from PIL import Image

        return self._processor.image_processor(images=[Image.fromarray(image)],
                                               return_tensors='pt')['pixel_values']

    def _score(self, pixels: Any, tails: list[tuple[int, ...]]) -> list[YesNoReply]:
        from transformers import DynamicCache

        torch = self._torch
        replies: list[YesNoReply] = []
        with torch.inference_mode():
            cache = DynamicCache(config=self._model.config.get_text_config())
            self._model.model(input_ids=self._prefix, pixel_values=pixels, use_cache=True,
                              past_key_values=cache)
            for start in range(0, len(tails), self._settings.chunk):
                part = tails[start:start + self._settings.chunk]
                final = start + len(part) == len(tails)
                replies += self._packed(cache if final else copy.deepcopy(cache), part)
        return replies

    def _packed(self, cache: Any, tails: list[tuple[int, ...]]) -> list[YesNoReply]:
        """Score the questions behind one encoded image; extends the cache."""
        torch = self._torch
        prefix = self._prefix.shape[1]
        lengths = np.array([len(tail) for tail in tails])
        owner = np.repeat(np.arange(len(tails)), lengths)
        ends = lengths.cumsum()
        place = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        sees = (owner[:, None] == owner[None]) & (place[:, None] >= place[None])
        mask = np.concatenate([np.ones((len(owner), prefix), bool), sees], 1)
        ids = np.concatenate([np.array(tail, np.int64) for tail in tails])
        logits = self._model(
            input_ids=torch.from_numpy(ids)[None], past_key_values=cache, use_cache=True,
            attention_mask=torch.from_numpy(mask)[None, None],
            position_ids=torch.from_numpy(prefix + place)[None],
            logits_to_keep=torch.from_numpy(ends - 1)).logits[0]
        return self._read(logits)

    def _read(self, logits: Any) -> list[YesNoReply]:
        """(N, vocabulary) logits of the answer's first token to replies."""
        shares = logits.float().softmax(-1)
        yes, no = shares[:, self._yes].sum(-1).tolist(), shares[:, self._no].sum(-1).tolist()
        words = self._processor.tokenizer.batch_decode(shares.argmax(-1)[:, None])
        return [YesNoReply(text=word.strip(), p_yes=min(1.0, y), p_no=min(1.0, n))
                for word, y, n in zip(words, yes, no, strict=True)]

    def _check(self) -> None:
        """Compare both ways on two questions of unlike length; also warms everything up."""
        from sightplan.model import Atom, Observation, Question

        gradient = np.linspace(0, 255, 640, dtype=np.uint8)[None, :, None]
        image = np.broadcast_to(gradient, (480, 640, 3)).copy()
        request = YesNoRequest(Observation(image=image), tuple(
            Question(Atom('probe'), text) for text in _PROBES))
        pairs = zip(self.answer(request), self.answer_one_by_one(request), strict=True)
        for fast, plain in pairs:
            if (abs((fast.p_yes or 0) - (plain.p_yes or 0)) > _TOLERANCE
                    or abs((fast.p_no or 0) - (plain.p_no or 0)) > _TOLERANCE):
                raise BackendError(
                    f'embedded: {self._name} answers differently when questions share the image '
                    f'({fast} and {plain}); choose a model with full attention as model_dir')


def _checked(image: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
    """The image, if it is one.

    Raises:
        BackendError: it is missing, not uint8 RGB, or too small to show anything.
    """
    if image is None:
        raise BackendError('embedded: the observation holds no image; this backend only answers '
                           'questions about a picture')
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise BackendError(f'embedded: the image is {image.dtype} {image.shape}; it must be uint8 '
                           'RGB of shape (height, width, 3)')
    if min(image.shape[:2]) < _LEAST_PX:
        raise BackendError(f'embedded: an image of {image.shape[1]}x{image.shape[0]} pixels shows '
                           f'nothing; it must have {_LEAST_PX} at least (a world with '
                           'pictures=none draws none: choose pictures=pybullet)')
    return image


def _identity(folder: Path) -> str:
    """Name of the folder and hash of its weights.

    Raises:
        BackendError: the folder is not a model folder.
    """
    remedy = ('name a folder that AutoModelForImageTextToText can load, or leave model_dir empty '
              'for the shipped model')
    if not folder.is_dir():
        raise BackendError(f'embedded: the model folder {folder} does not exist; {remedy}')
    weights = sorted(folder.glob('*.safetensors'))
    if not weights or not (folder / 'config.json').is_file():
        raise BackendError(f'embedded: {folder} lacks config.json or *.safetensors; {remedy}')
    digest = hashlib.sha256()
    for path in weights:
        digest.update(path.read_bytes())
    return f'{folder.name}@{digest.hexdigest()[:12]}'


def _load(folder: Path, threads: int) -> tuple[Any, Any, Any]:
    """Import torch and transformers and load processor and model, float32, offline."""
    try:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor
        from transformers.utils import logging
    except ImportError as error:
        raise BackendError(f'embedded needs torch, transformers and pillow ({error}); run "make '
                           'build", or pip install torch transformers pillow') from error
    torch.set_num_threads(threads)
    bar = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        processor = AutoProcessor.from_pretrained(str(folder), local_files_only=True,
                                                  backend='pil')
        model = AutoModelForImageTextToText.from_pretrained(
            str(folder), local_files_only=True, dtype=torch.float32)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise BackendError(f'embedded: {folder} could not be loaded ({error}); name another '
                           'model_dir, or reinstall the package') from error
    finally:
        if bar:
            logging.enable_progress_bar()
    return torch, processor, model.eval()


def _answer_ids(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Ids of all single tokens that spell yes or no, whatever their case and leading space."""
    found: dict[str, list[int]] = {'yes': [], 'no': []}
    for token, index in tokenizer.get_vocab().items():
        word = tokenizer.convert_tokens_to_string([token]).strip(' \u2581\u0120').lower()
        if word in found:
            found[word].append(index)
    if not found['yes'] or not found['no']:
        raise BackendError('embedded: the tokenizer has no single tokens for yes and no; choose '
                           'another model_dir')
    return sorted(found['yes']), sorted(found['no'])
