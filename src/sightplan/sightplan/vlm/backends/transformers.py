"""``transformers``: any image-text-to-text model of transformers, on this machine's GPU or CPU.

The model comes from a folder or by its hub name and is used through its own processor and chat
template. Yes/no questions are scored, not generated: system text and image are encoded once, all
questions run against that shared prompt, and the probabilities are sums over all spellings of yes
and no (``_shared_prefix`` tells how, and which models cannot). Answers with reasons and free texts
are generated greedily.
"""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.model import GroundingPrompt, InputError, Usage, param
from sightplan.vlm.api import TextReply, TextRequest, YesNoReply, YesNoRequest
from sightplan.vlm.backends import _local_models

MECHANISMS = ('auto', 'packed', 'lazy', 'expand', 'plain')

_PROBE = GroundingPrompt('probe', system='Answer with one word, Yes or No.',
                         question='Question: {question}')


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``transformers``."""

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
                           'passes a test at load time', choices=MECHANISMS, identity=False)
    memory_gb: float = param(0.0, 'Bound on the memory of one pass beyond weights and encoded '
                             'prompt [GiB]; 0: half of what is free on a GPU, 2 on a CPU',
                             low=0.0, high=1e4, identity=False)
    max_image_pixels: int = param(0, 'Images with more pixels are made smaller before the '
                                  'processor sees them; 0: never', low=0)
    template_options: str = param('', 'Arguments for the chat template, a JSON object such as '
                                  '{"enable_thinking": false}; the template tells their names')
    threads: int = param(0, 'CPU threads of torch in this process; 0: as many as it likes',
                         low=0, high=1024, identity=False)


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
        self._local = _local_models.load('transformers', _local_models.Options(**{
            name: getattr(settings, name) for name in Settings.__dataclass_fields__}), _PROBE)

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

    def answer_one_by_one(self, request: YesNoRequest) -> list[YesNoReply]:
        """The plain way, each question with its own copy of the image: slow, for comparison."""
        return self._local.answer_one_by_one(request.observation, request.questions,
                                             request.prompt)

    def generate(self, request: TextRequest) -> TextReply:
        """Reply in free text; contract in the protocol."""
        return self._local.write(request)
