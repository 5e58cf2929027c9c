"""Loading a model of transformers and its processor, from a folder or by hub name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sightplan.model import BackendError, param
from sightplan.queries.pointing import AXIS_TICKS, CONVENTIONS, DEFAULT_FAMILY
from sightplan_models._model_identity import (
    files_hash,
    folder,
    folder_identity,
    hub_identity,
    is_folder,
    template_options,
    with_arithmetic,
)
from sightplan_models._processors import (
    can_import,
    hide_unfit_torchvision,
    install_command,
    load_processor,
    reason,
)

FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
            NotImplementedError, AssertionError)
"""Exceptions that libraries raise when a model or processor is unfit."""


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
    chosen = template_options(label, options.template_options)
    local = is_folder(options.model)
    identity = folder_identity(label, folder(options.model), setting) if local else ''
    if local and not shipped:
        identity += f'+{files_hash(folder(options.model))}'
    try:
        import torch
        unfit = hide_unfit_torchvision()
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
    except (OSError, ImportError, *FAILURES) as error:
        raise BackendError(f'{label}: {options.model} could not be loaded '
                           f'({reason(error)}); {_remedy(options, setting, error, unfit)}'
                           ) from error
    finally:
        if bar:
            hf_logging.enable_progress_bar()
    identity = identity or hub_identity(options.model, options.revision, model)
    identity = with_arithmetic(identity, str(model.dtype).removeprefix('torch.'),
                               options.quantisation, options.max_image_pixels, chosen)
    return identity, model.eval(), processor


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
    if options.attention == 'flash_attention_2' and not can_import('flash_attn'):
        raise BackendError(f'{label}: attention flash_attention_2 needs a library: pip install '
                           'flash-attn, or choose attention auto')
    if options.quantisation != 'none':
        missing = [library for library in ('bitsandbytes', 'accelerate')
                   if not can_import(library)]
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
    if gpu and can_import('accelerate'):
        several = options.device == 'auto' and torch.cuda.device_count() > 1
        found['device_map'] = 'auto' if several else {'': device}
    return found


def _remedy(options: Settings, setting: str, error: BaseException, unfit: str) -> str:
    """Remedy for the user.

    ``unfit`` says why the installed torchvision is not used ('' if it is).
    """
    if isinstance(error, ImportError) or 'torchvision' in str(error):
        return install_command(error, unfit)
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
