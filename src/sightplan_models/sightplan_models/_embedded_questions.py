"""Yes/no questions to a shipped model, which is computed in numpy (``_embedded_network``)."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError, DeadlineError, Observation, Usage
from sightplan.model.query import NO_DEADLINE, Deadline, ModelByKind, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan.vlm.images import checked_pixels
from sightplan_models._chat_prompts import ANSWER_TAGS, any_of, without_tokens
from sightplan_models._depth import depth_pixels
from sightplan_models._unlike import Unlike, never

if TYPE_CHECKING:
    from sightplan_models._embedded_network import Prefix

_QUESTIONS_A_PASS = 64
NO_IMAGE = ('embedded: the observation holds no image; this backend only answers questions about '
            'a picture')


class ShippedQuestionModel(ModelByKind):
    """A shipped model for bare yes/no questions, with depth if it was made for it; any thread.

    Args:
        folder: of the model.
        name: exact name of the model.
        depth: whether it is given depth.
        unlike: says why it can tell nothing of a picture.

    Raises:
        BackendError: a library is missing, or the folder holds no such model.
    """

    accepts = frozenset({YesNo})

    def __init__(self, folder: Path, name: str, depth: bool, unlike: Unlike = never) -> None:
        try:
            from safetensors import SafetensorError
            from tokenizers import Tokenizer

            from sightplan_models._embedded_network import Network
        except ImportError as error:
            raise BackendError(f'embedded needs safetensors and tokenizers ({error}); install '
                               'them: pip install safetensors tokenizers') from error
        try:
            self._network = Network(folder)
            self._tokenizer = Tokenizer.from_file(str(folder / 'tokenizer.json'))
            words = self._tokenizer.get_vocab()
            self._begin, self._unknown = words['<s>'], words['<unk>']
            self._yes, self._no = words['yes'], words['no']
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise BackendError(f'embedded: {folder} holds no model for questions '
                               f'({type(error).__name__}: {error}); install the package '
                               'again') from error
        self.name = name
        self.traits = Traits(prompt=False, domain=folder.name, depth=self.has_depth and depth)
        if self.has_depth and not depth:
            self.name += ' depth=false'
        self._unlike = unlike
        self._specials = any_of(
            token.content for token in self._tokenizer.get_added_tokens_decoder().values()
            if token.content not in ANSWER_TAGS)
        self._lock = threading.Lock()
        self._usage = Usage()
        self._kept: tuple[str, Prefix] | None = None

    @property
    def has_depth(self) -> bool:
        """Whether the model was made for pictures with depth."""
        return self._network.channels == 4

    @property
    def usage(self) -> Usage:
        """Requests, one per question, and tokens that were read."""
        return self._usage

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image, without the words around them.

        It cannot tell what a question with a word asks that it does not know, and nothing of a
        picture that is unlike those that it was made for.

        Raises:
            BackendError: there is no picture.
            DeadlineError: the limit passed; its ``partial`` has the answers that were ready.
        """
        seen = queries[0].observation
        unlike = self._unlike(checked_pixels(seen.image, NO_IMAGE))
        return answer_known(queries, unlike, self.unknown_words,
                            lambda known: self._answer(
                                seen, [query.question.text for query in known], deadline))

    def ask_plainly(self, queries: Sequence[YesNo]) -> list[Answer]:
        """Answer each question by itself, with the picture read anew: the reference."""
        found = list[Answer]()
        for query in queries:
            self._kept = None
            found += self.answer([query], NO_DEADLINE)
        return found

    def _answer(self, seen: Observation, texts: Sequence[str], deadline: Deadline,
                ) -> list[Answer]:
        """Answers to questions about a picture."""
        found = list[Answer]()
        with self._lock:
            for first in range(0, len(texts), _QUESTIONS_A_PASS):
                self._check_time(deadline, found, len(texts))
                asked = [self._ids(text) for text in texts[first:first + _QUESTIONS_A_PASS]]
                prefix = self._read(seen)
                probabilities = self._network.probabilities(prefix, asked)
                self._usage += Usage(len(asked), sum(map(len, asked)), 0)
                found += [Answer(word, min(float(row[self._yes]), 1.0),
                                 min(float(row[self._no]), 1.0))
                          for word, row in zip(self._words(probabilities), probabilities,
                                               strict=True)]
            self._check_time(deadline, found, len(texts))
        return found

    @staticmethod
    def _check_time(deadline: Deadline, found: Sequence[Answer], count: int) -> None:
        try:
            deadline.check(f'embedded: {len(found)} of {count} answers')
        except DeadlineError as late:
            late.partial = [*found, *[None] * (count - len(found))]
            raise

    def _read(self, seen: Observation) -> Prefix:
        """Encoding of a picture; that of the last one is kept, in case it is asked about again."""
        assert seen.image is not None
        depth_m = seen.depth_m if self.traits.depth else None
        key = sight_id(seen, depth_m)
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1]
        prefix = self._network.encode(self._pixels(seen.image, depth_m), [self._begin])
        self._usage += Usage(0, prefix.length, 0)
        self._kept = key, prefix
        return prefix

    def _pixels(self, image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None,
                ) -> NDArray[np.float32]:
        """A picture of any size (H, W, 3), and its depth, as the network takes them."""
        from PIL import Image

        height, width = self._network.size
        small = Image.fromarray(np.ascontiguousarray(image)).resize(
            (width, height), Image.Resampling.BILINEAR)
        pixels = np.asarray(small, np.float32).transpose(2, 0, 1) / np.float32(127.5) - 1
        if self.has_depth:
            pixels = np.concatenate([pixels, depth_pixels(depth_m, height, width)[None]])
        return pixels

    def _ids(self, text: str) -> list[int]:
        """Tokens of a question, and of the tag behind which the answer stands."""
        plain = without_tokens(text, self._specials).strip()
        ids: list[int] = self._tokenizer.encode(plain + ANSWER_TAGS[0],
                                                add_special_tokens=False).ids
        return ids

    def _words(self, probabilities: NDArray[np.float32]) -> list[str]:
        """The most probable word of each row."""
        return [str(self._tokenizer.decode([int(token)], skip_special_tokens=False)).strip()
                for token in probabilities.argmax(-1)]

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019 (models are kept)
    def unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of a text that the model has no token for."""
        read = self._tokenizer.encode(text, add_special_tokens=False)
        return tuple(dict.fromkeys(
            text[begin:end] for number, (begin, end) in zip(read.ids, read.offsets, strict=True)
            if number == self._unknown))


def answer_known(queries: Sequence[YesNo], unlike: str,
                 unknown_words: Callable[[str], tuple[str, ...]],
                 answer: Callable[[list[YesNo]], list[Answer]]) -> list[Answer]:
    """Answer questions that a model can answer; of the others say why they cannot be told.

    Args:
        queries: about one picture.
        unlike: why the model can tell nothing of the picture; '' if it can.
        unknown_words: the words of a text that the model does not know.
        answer: answers those that the model can answer, one at least.
    """
    unable = [unlike or _why_unable(unknown_words(query.question.text)) for query in queries]
    known = [query for query, why in zip(queries, unable, strict=True) if not why]
    told = iter(answer(known) if known else ())
    return [Answer.cannot_tell(why) if why else next(told) for why in unable]


def _why_unable(unknown: Sequence[str]) -> str:
    return f'it does not know {", ".join(map(repr, unknown))}' if unknown else ''


def sight_id(seen: Observation, depth_m: NDArray[np.float32] | None) -> str:
    """A text that is equal for observations that show a model the same picture and depth."""
    if depth_m is None:
        return seen.image_id
    digest = hashlib.sha256(np.ascontiguousarray(depth_m).tobytes())
    return f'{seen.image_id} {depth_m.shape} {digest.hexdigest()}'
