"""Vision-language models: requests, replies and backends."""

from sightplan.vlm.api import (
    Backend,
    YesNoReply,
    YesNoRequest,
    backend_names,
    backend_settings,
    make_backend,
)

__all__ = ['Backend', 'YesNoReply', 'YesNoRequest', 'backend_names', 'backend_settings',
           'make_backend']
