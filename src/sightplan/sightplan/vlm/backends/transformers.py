"""``transformers``: any image-text-to-text model of transformers, on this machine's GPU or CPU.

The model comes from a folder or by its hub name and is used through its own processor and chat
template. Yes/no questions are scored, not generated: system text and image are encoded once, all
questions run against that shared prompt, and the probabilities are sums over all spellings of yes
and no (``_shared_prefix`` tells how, and which models cannot). Answers with reasons and free texts
are generated greedily.
"""

from __future__ import annotations

from sightplan.model import GroundingPrompt, InputError, Usage
from sightplan.vlm.api import TextReply, TextRequest, YesNoReply, YesNoRequest
from sightplan.vlm.backends import _local_models
from sightplan.vlm.backends._local_models import Settings as Settings

_PROBE = GroundingPrompt('probe', system='Answer with one word, Yes or No.',
                         question='Question: {question}')


class Backend:
    """A local model of transformers; ready (loaded, checked, warm) once constructed.

    Args:
        settings: see Settings.

    Raises:
        InputError: no model is named, the device's name is none, or the template's options are no
            JSON object.
        BackendError: a library, the model, the device or memory is missing, or the model is
            unfit; says what to do.
    """

    needs_truth = False
    needs_pixels = True
    generates = True

    def __init__(self, settings: Settings) -> None:
        if not settings.model:
            raise InputError('backend transformers: the setting model is empty; name a folder or '
                             'a hub name, for example model: Qwen/Qwen2.5-VL-7B-Instruct')
        kind, _, number = settings.device.partition(':')
        if kind not in ('auto', 'cuda', 'cpu') or (number and not (
                kind == 'cuda' and number.isdecimal())):
            raise InputError(f'backend transformers: device = {settings.device!r} must be auto, '
                             'cuda, cuda:N or cpu')
        self._local = _local_models.load('transformers', settings, _PROBE)

    @property
    def model(self) -> str:
        """Name and version, for example ``Qwen/Qwen2.5-VL-7B-Instruct@cc594898137f bfloat16``.

        A hub name stands before its commit, a folder's before hashes of its weights and of its
        other files; precision (but for float32), quantisation, image size and options of the
        template follow, as they make other numbers of the same weights.
        """
        return self._local.name

    @property
    def mechanism(self) -> str:
        """How questions share their prompt: packed, lazy, expand, or plain (they do not)."""
        return self._local.mechanism

    @property
    def usage(self) -> Usage:
        """What all calls so far cost; a shared prompt counts once."""
        return self._local.usage

    def answer(self, request: YesNoRequest) -> list[YesNoReply]:
        """Answer all questions about one image; contract in the protocol."""
        return self._local.answer(request.observation, request.questions, request.prompt,
                                  request.timeout_s)

    def generate(self, request: TextRequest) -> TextReply:
        """Reply in free text; contract in the protocol."""
        return self._local.write(request)
