"""Models by the names of their backends, and what surrounds a model."""

from sightplan.vlm.api import (
    backend_names,
    backend_settings,
    make_backend,
)

__all__ = ['backend_names', 'backend_settings', 'make_backend']
