"""Sampling with the model's own ``generate``, which is watched and stopped."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of drawing tokens instead of taking the most probable one.

    Attributes:
        temperature: above 0.
        top_p: total probability of the tokens that are drawn from; 0 or 1: of all.
        top_k: most tokens that are drawn from; 0: all.
        seed: with the request it decides what is drawn.
    """

    temperature: float
    top_p: float = 1.0
    top_k: int = 0
    seed: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """The settings as arguments of ``GenerationConfig``."""
        return {'do_sample': True, 'temperature': self.temperature, 'top_p': self.top_p or 1.0,
                'top_k': self.top_k}

    @contextlib.contextmanager
    def seeded(self, inputs: Mapping[str, Tensor]) -> Iterator[None]:
        """Draws hang on the seed and the request alone, and disturb no others."""
        digest = hashlib.sha256(str(self.seed).encode())
        for name in sorted(inputs):
            digest.update(inputs[name].detach().cpu().contiguous().float().numpy().tobytes())
        devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(int.from_bytes(digest.digest()[:6], 'big'))
            yield


class Watch(StoppingCriteria):  # type: ignore[misc]
    """Stop ``generate`` at a deadline or where ``done`` says so, and read probabilities.

    Args:
        read: makes logits, (1, V), to the most probable token and the probability of each group.
        length: tokens of the prompt.
        done: given the tokens so far, whether to end.
        deadline: by ``time.monotonic()`` [s].
    """

    def __init__(self, read: Callable[[Tensor], Tensor], length: int,
                 done: Callable[[list[int]], bool] | None, deadline: float) -> None:
        self.masses: list[tuple[float, ...]] = []
        self.finished = False
        self._length = length
        self._done = done
        self._deadline = deadline
        watch = self

        class Reader(LogitsProcessor):  # type: ignore[misc]
            """Processor that reads the scores and leaves them unchanged."""

            def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
                chances = read(scores)[0].tolist()[1:]
                watch.masses.append(tuple(min(1.0, chance) for chance in chances))
                return scores

        self.reader = Reader()

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        if self._done is not None:
            self.finished = self._done(input_ids[0, self._length:].tolist())
        over = self.finished or time.monotonic() > self._deadline
        return torch.full((input_ids.shape[0],), over, dtype=torch.bool, device=input_ids.device)
