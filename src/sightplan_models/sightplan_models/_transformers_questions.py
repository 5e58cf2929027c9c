"""Bare yes/no questions to a small model of transformers: what ``model_dir`` names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BARE, BackendError, Observation
from sightplan.model.query import Deadline, Traits, answers
from sightplan.queries import Answer, YesNo
from sightplan_models import _model_loading
from sightplan_models._depth import depth_pixels
from sightplan_models._embedded_questions import answer_known, sight_id
from sightplan_models._local_models import LocalModel
from sightplan_models._unlike import Unlike, never


class _Sight(NamedTuple):
    """A picture as the processor takes it, and its depth: (H, W) [m], None for unknown."""

    picture: Any
    depth_m: NDArray[np.float32] | None


class QuestionModel(LocalModel):
    """A small model of transformers for bare yes/no questions, with depth if it was made for it.

    Args:
        name: see ``_model_loading.load``; likewise ``model`` and ``processor``.
        model: see there.
        processor: see there.
        options: those it was loaded with.
        domain: that it was made for, if it is a shipped model; else ''.
        depth: whether it is given depth.
        unlike: says why it can tell nothing of a picture.
    """

    accepts = frozenset({YesNo})

    def __init__(self, name: str, model: Any, processor: Any, options: _model_loading.Settings,
                 domain: str, depth: bool, unlike: Unlike = never) -> None:
        self._unlike = unlike
        vision = getattr(model.config, 'vision_config', None)
        self._channels = int(getattr(vision, 'num_channels', 3))
        self.traits = Traits(prompt=False, domain=domain, depth=self.has_depth and depth)
        if self.has_depth and not depth:
            name += ' depth=false'
        super().__init__('embedded', name, model, processor, options)

    @property
    def has_depth(self) -> bool:
        """Whether the model was made for pictures with depth."""
        return self._channels == 4

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        """Answer all questions about one image, without the words around them.

        It cannot tell what a question with a word asks that it does not know, and nothing of a
        picture that is unlike those that it was made for.
        """
        seen = queries[0].observation
        self._check(seen)
        unlike = '' if seen.image is None else self._unlike(seen.image)
        return answer_known(
            queries, unlike, self._unknown_words, lambda known: super(QuestionModel, self).answer(
                [dataclasses.replace(query, prompt=BARE) for query in known], deadline))

    @functools.lru_cache(maxsize=1 << 14)  # noqa: B019 (models are kept)
    def _unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of a text that the model has no token for."""
        if self._tokenizer.unk_token_id is None:
            return ()
        read = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return tuple(dict.fromkeys(
            text[begin:end] for number, (begin, end) in zip(
                read['input_ids'], read['offset_mapping'], strict=True)
            if number == self._tokenizer.unk_token_id))

    def ask_plainly(self, queries: Sequence[YesNo]) -> list[Answer]:
        """Answer each question with its own copy of the image, without the words around it."""
        return super().ask_plainly([dataclasses.replace(query, prompt=BARE) for query in queries])

    def _seen_depth(self, seen: Observation) -> NDArray[np.float32] | None:
        """The depth that the model is to see, (H, W) [m]; None for none."""
        return seen.depth_m if self.traits.depth else None

    def _sight_id(self, seen: Observation) -> str:
        return sight_id(seen, self._seen_depth(seen))

    def _check(self, seen: Observation) -> None:
        """Check that there is an image: this model looks, and reads no descriptions."""
        if seen.image is None:
            raise BackendError('the observation holds no image; this model only answers questions '
                               'about a picture')
        super()._check(seen)

    def _look(self, seen: Observation) -> list[_Sight]:
        return [_Sight(picture, self._seen_depth(seen)) for picture in super()._look(seen)]

    def _inputs(self, text: str, images: Sequence[_Sight]) -> dict[str, Any]:
        """Inputs as the processor makes them, with a depth channel where the model has one."""
        inputs = super()._inputs(text, [image.picture for image in images])
        if self.has_depth:
            inputs['pixel_values'] = _with_depth(inputs['pixel_values'],
                                                 [image.depth_m for image in images])
        return inputs


def _with_depth(pixels: Any, depths_m: Sequence[NDArray[np.float32] | None]) -> Any:
    """(n, 3, h, w) pictures, and depth of any size, to (n, 4, h, w); see ``depth_pixels``."""
    import torch

    height, width = pixels.shape[-2:]
    fourth = np.stack([depth_pixels(depth_m, height, width)[None] for depth_m in depths_m])
    return torch.cat([pixels, torch.from_numpy(fourth).to(pixels.dtype)], 1)
