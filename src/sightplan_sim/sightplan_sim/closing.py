"""Base class of objects that a ``with`` statement closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Object that holds a simulator or a process until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources; the object cannot be used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
