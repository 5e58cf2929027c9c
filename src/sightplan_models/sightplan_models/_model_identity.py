"""Names of models of transformers that tell everything that changes their numbers.

A model's name in results is that of its folder, with hashes of its weights and of the files that
decide what it is asked, or its hub name and commit; precision, quantisation, size of pictures and
options of the chat template follow.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sightplan.model import BackendError, InputError
from sightplan.model.json_text import load_json

_WHOLE_FILE = 256 * 2**20
"""Size up to which all bytes of a file of weights are hashed [bytes]."""
_SAMPLE, _SAMPLES = 2**20, 64
"""Size [bytes] and number of the samples that are hashed of a larger file."""
_DECIDING = ('config.json', 'generation_config.json', '*processor_config.json', 'tokenizer*',
             'vocab.*', 'merges.txt', '*.tiktoken', 'special_tokens_map.json',
             'added_tokens.json', 'chat_template*', 'additional_chat_templates/*', '*.py')
"""Files of a model folder, beside its weights, on which answers depend."""
_RESERVED = frozenset({'conversation', 'chat_template', 'add_generation_prompt', 'tokenize',
                       'continue_final_message', 'return_dict', 'return_tensors'})
"""Arguments of the chat template that the backend sets itself."""


def is_folder(model: str) -> bool:
    """Whether a model is given by its folder, which may be missing, and not by a hub name."""
    return model.startswith(('.', '/', '~')) or folder(model).is_dir()


def folder(model: str) -> Path:
    return Path(model).expanduser()


def folder_identity(label: str, folder: Path, setting: str, kind: str = 'config') -> str:
    """Name of a model's folder, and hash of its weights; ``setting`` names the folder in errors.

    ``kind`` is the name of the JSON file that says what the model is.

    All bytes of files up to 256 MiB are hashed, of larger ones their size and 64 MiB spread
    evenly: a fine-tuned model differs everywhere.

    Raises:
        BackendError: the folder is not a model folder.
    """
    remedy = f'name a folder that AutoModelForImageTextToText can load as {setting}'
    if not folder.is_dir():
        raise BackendError(f'{label}: the model folder {folder} does not exist; {remedy}')
    weights = sorted([*folder.glob('*.safetensors'), *folder.glob('pytorch_model*.bin')])
    if not weights or not (folder / f'{kind}.json').is_file():
        raise BackendError(f'{label}: {folder} lacks {kind}.json or *.safetensors; {remedy}')
    digest = hashlib.sha256()
    for path in weights:
        size = path.stat().st_size
        if size <= _WHOLE_FILE:
            digest.update(path.read_bytes())
            continue
        digest.update(str(size).encode())
        with path.open('rb') as file:
            for sample in range(_SAMPLES):
                file.seek((size - _SAMPLE) * sample // (_SAMPLES - 1))
                digest.update(file.read(_SAMPLE))
    return f'{folder.resolve().name}@{digest.hexdigest()[:12]}'


def files_hash(folder: Path) -> str:
    """Hash of a model folder's configuration, tokenizer, processor, chat template and code."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _DECIDING for path in folder.glob(pattern)
                        if path.is_file()}):
        content = path.read_bytes()
        digest.update(f'{path.relative_to(folder).as_posix()} {len(content)}\n'.encode())
        digest.update(content)
    return digest.hexdigest()[:8]


def template_options(label: str, text: str) -> dict[str, Any]:
    """Arguments for the chat template, from JSON.

    Raises:
        InputError: the text is no JSON object, or names what is not the user's to choose.
    """
    if not text:
        return {}
    try:
        options = load_json(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f'backend {label}: template_options is not JSON ({error}); an example: '
                         '{"enable_thinking": false}') from error
    if not isinstance(options, dict) or set(options) & _RESERVED:
        raise InputError(f'backend {label}: template_options must be a JSON object without '
                         f'{", ".join(sorted(_RESERVED))}; an example: '
                         '{"enable_thinking": false}')
    return options


def hub_identity(name: str, revision: str, model: Any) -> str:
    """Name and commit of a model from the hub."""
    commit = getattr(model.config, '_commit_hash', None) or revision or 'unknown'
    return f'{name}@{commit[:12]}'


def with_arithmetic(identity: str, dtype: str, quantisation: str, max_image_pixels: int,
                    chosen: dict[str, Any]) -> str:
    """Identity with all settings that change a model's numbers; float32 is not named."""
    extra = [] if dtype == 'float32' else [dtype]
    if quantisation != 'none':
        extra.append(quantisation)
    if max_image_pixels:
        extra.append(f'max_image_pixels={max_image_pixels}')
    if chosen:
        extra.append('template_options=' + json.dumps(chosen, sort_keys=True,
                                                      separators=(',', ':')))
    return ' '.join([identity, *extra])
