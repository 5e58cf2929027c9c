"""Base class of what a ``with`` statement closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something that holds a simulator or a process until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Give back what is held; nothing can be done with it afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
