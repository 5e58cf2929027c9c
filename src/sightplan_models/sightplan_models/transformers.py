"""``transformers``: any image-text-to-text model of transformers, on this machine's GPU or CPU.

The model comes from a folder or by its hub name and is used through its own processor and chat
template. Yes/no questions are scored, not generated: system text and image are encoded once, all
questions run against that shared prompt, and the probabilities are sums over all spellings of yes
and no (``_shared_prefix`` tells how, and which models cannot). Answers with reasons and free texts
are generated greedily; so are places in pictures, as the settings ``pointing`` and ``coordinates``
declare (``queries.pointing``).
"""

from __future__ import annotations

from sightplan.model import GroundingPrompt, InputError
from sightplan.model.query import Query, Traits
from sightplan.queries.chat import ChatStyle
from sightplan.queries.pointing import Pointing, family_hash
from sightplan.vlm.wrapping import Prompted
from sightplan_models._local_models import LocalModel
from sightplan_models._model_loading import Settings as Settings
from sightplan_models._model_loading import load

_PROBE = GroundingPrompt('probe', system='Answer with one word, Yes or No.',
                         question='Question: {question}')


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the prompts with which it points; see ``api.backend_content``."""
    return family_hash(settings.pointing)


class Backend(Prompted):
    """A local model of transformers; ready (loaded, checked, warm) once constructed.

    Args:
        settings: see Settings.

    Raises:
        InputError: no model is named, the device's name is none, the template's options are no
            JSON object, or there are no such prompts for pointing.
        BackendError: a library, the model, the device or memory is missing, or the model is
            unfit; says what to do.
    """

    accepts = frozenset({Query})
    traits = Traits(texts=True, weights=True)

    def __init__(self, settings: Settings) -> None:
        if not settings.model:
            raise InputError('backend transformers: the setting model is empty; name a folder or '
                             'a hub name, for example model: Qwen/Qwen2.5-VL-7B-Instruct')
        kind, _, number = settings.device.partition(':')
        if kind not in ('auto', 'cuda', 'cpu') or (number and not (
                kind == 'cuda' and number.isdecimal())):
            raise InputError(f'backend transformers: device = {settings.device!r} must be auto, '
                             'cuda, cuda:N or cpu')
        pointing = Pointing.declared(settings.pointing, settings.coordinates, settings.axis_ticks)
        chat = LocalModel('transformers', *load('transformers', settings), settings, _PROBE)
        super().__init__(chat, ChatStyle(pointing, chat.resized))
        self.chat = chat
