"""Processors of transformers: what turns a chat and pictures into a model's inputs.

Half of today's processors take videos, too, and transformers cannot make that half without
torchvision, which has to fit torch to the build. Nothing here is ever given a video: where
torchvision is missing, or is not to be used, a processor is loaded without that half, and Pillow
prepares its pictures.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import json
import logging
import re
import sys
from pathlib import Path
from typing import Any

_LOG = logging.getLogger(__name__)
_IMPORT_FAILURES = (ImportError, OSError, RuntimeError, AttributeError)
"""Exceptions of importing a library that is missing or does not fit the others."""
_CONFIGURATIONS = ('processor_config.json', 'preprocessor_config.json',
                   'video_preprocessor_config.json', 'tokenizer_config.json')
"""Files of a model that may name the class of its processor, as AutoProcessor reads them."""
_VIDEOS = 'video_processor'


def load_processor(name: str, pixels: str = '', **source: Any) -> Any:
    """Load a model's processor, without its half for videos unless torchvision is used.

    Args:
        name: folder, or hub name.
        pixels: library that prepares pictures: 'pil', or '' for torchvision where that can be
            imported and Pillow where not.
        **source: arguments of ``from_pretrained``.

    Raises:
        Exception: whatever transformers raises.
    """
    hide_unfit_torchvision()
    from transformers import AutoProcessor

    if not pixels and can_import('torchvision'):
        return AutoProcessor.from_pretrained(name, **source)
    kind = _processor_class(name, **source)
    if kind is None:
        return AutoProcessor.from_pretrained(name, **source, backend=pixels or 'pil')
    return _pictures_only(kind).from_pretrained(name, **source, backend=pixels or 'pil')


def _processor_class(name: str, **source: Any) -> Any:
    """Class of a model's processor; None where AutoProcessor alone can tell.

    It is named in one of the model's files, or goes by the type of the model.
    """
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES
    from transformers.utils import cached_file

    where = {key: value for key, value in source.items() if key != 'trust_remote_code'}
    named = ''
    for file in _CONFIGURATIONS:
        path = cached_file(name, file, _raise_exceptions_for_missing_entries=False, **where)
        content = json.loads(Path(path).read_text(encoding='utf-8')) if path else {}
        if 'AutoProcessor' in content.get('auto_map', {}):
            return None  # a class of the model's own program code
        named = named or content.get('processor_class') or ''
    if not named:
        config = transformers.AutoConfig.from_pretrained(name, **source)
        named = PROCESSOR_MAPPING_NAMES.get(config.model_type) or ''
    found = getattr(transformers, named, None)
    return _in_spite_of_torchvision(found) if getattr(found, 'is_dummy', False) else found


def _in_spite_of_torchvision(dummy: Any) -> Any:
    """The class for which transformers puts a dummy, because it is said to need torchvision.

    Mistral's processor does with Pillow, but its module imports a function of the module that
    prepares pictures with torchvision. The module for Pillow has the same function, and stands
    in for the other while the processor's module is imported.
    """
    package, _, module = dummy.__module__.rpartition('.')
    family = module.removeprefix('processing_')
    pictures = f'{package}.image_processing_{family}'
    known = sys.modules.get(pictures)
    try:
        sys.modules[pictures] = importlib.import_module(
            f'{package}.image_processing_pil_{family}')
        return getattr(importlib.import_module(dummy.__module__), dummy.__name__)
    except _IMPORT_FAILURES:
        return dummy  # whose error names what it needs
    finally:
        if known is None:
            sys.modules.pop(pictures, None)
        else:
            sys.modules[pictures] = known


def _pictures_only(kind: Any) -> Any:
    """Subclass of a processor's class that is loaded without its half for videos."""
    if getattr(kind, 'is_dummy', False) or _VIDEOS not in kind.get_attributes():
        return kind
    names = kind.get_attributes()

    class Loaded(kind):  # type: ignore[misc]
        """The parts that are read from files."""

        @classmethod
        def get_attributes(cls) -> list[str]:
            return [name for name in names if name != _VIDEOS]

    class PicturesOnly(kind):  # type: ignore[misc]
        """The processor, with a stand-in for its half for videos."""

        @classmethod
        def _get_arguments_from_pretrained(cls, *args: Any, **kwargs: Any) -> list[Any]:
            loaded = iter(Loaded._get_arguments_from_pretrained(*args, **kwargs))
            return [_NoVideos() if name == _VIDEOS else next(loaded) for name in names]

        def check_argument_for_proper_class(self, name: str, value: Any) -> Any:
            return None if name == _VIDEOS else super().check_argument_for_proper_class(
                name, value)

    # Transformers goes by the name of a processor's class in places, and writes it into files.
    Loaded.__name__ = PicturesOnly.__name__ = kind.__name__
    return PicturesOnly


class _NoVideos(dict[str, Any]):
    """Stand-in for a processor's half for videos; it is written as empty JSON."""

    model_input_names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> None:
        """Return None for any setting of videos (frames a second, ...): pictures need none."""
        if name.startswith('__'):
            raise AttributeError(name)


def can_import(library: str) -> bool:
    """Whether a library is there and can be imported; being installed is not enough."""
    try:
        importlib.import_module(library)
    except _IMPORT_FAILURES:
        return False
    return True


@functools.cache
def hide_unfit_torchvision() -> str:
    """Let transformers do without a torchvision that cannot be imported.

    A torchvision that was built for another torch fails when it is imported, and transformers,
    which looks only whether it is installed, then fails for every model. It must be called before
    transformers is imported.

    Returns:
        why torchvision cannot be imported; '' if it can, or is not installed.
    """
    if importlib.util.find_spec('torchvision') is None:
        return ''
    try:
        importlib.import_module('torchvision')
    except _IMPORT_FAILURES as error:
        for name in [name for name in sys.modules if name.partition('.')[0] == 'torchvision']:
            del sys.modules[name]
        sys.modules['torchvision'] = None  # type: ignore[assignment]
        _LOG.warning('the installed torchvision does not fit torch (%s) and is not used; '
                     'install the two from one index', reason(error))
        return reason(error)
    return ''


def install_command(error: BaseException, unfit: str) -> str:
    """Command that installs the library that an error misses.

    ``unfit`` says why the installed torchvision is not used ('' if it is, or there is none).
    """
    python, text = sys.executable, str(error)
    if 'torchvision' in text.lower() or 'backend is not available' in text:
        torch = importlib.metadata.version('torch')
        why = (f'the installed torchvision cannot be imported ({unfit}): ' if unfit else
               'the processor of this model needs torchvision: ')
        return (f'{why}{python} -m pip install --upgrade torchvision, from the index that torch '
                f'{torch} came from')
    named = re.search(r'pip install (?:-U )?([\w.-]*\w)', text)
    library = named[1] if named else error.name if isinstance(error, ImportError) else ''
    return (f'{python} -m pip install {library}' if library
            else f'install what is missing with {python} -m pip install')


def reason(error: BaseException) -> str:
    """Type and first line of an error."""
    lines = str(error).strip().splitlines() or ['']
    return f'{type(error).__name__}: {lines[0][:300]}'
