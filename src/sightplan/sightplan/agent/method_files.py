"""The files that a method reads, its own and a domain's, checked before the first episode.

A method that reads such files has a class attribute ``files``, an instance of a subclass of
``MethodFiles``; one without it reads none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

from sightplan.domains import Domain
from sightplan.model import Problem


class MethodFiles(Protocol):
    """The files of a method; ``settings`` are always the method's own."""

    def check(self, settings: Any, domain: Domain, asks: bool) -> None:
        """Check that the files of a domain can be read.

        Args:
            settings: of the method.
            domain: of the run.
            asks: whether the method asks a model questions.

        Raises:
            InputError: a file is wrong; names it and the remedy.
        """

    def identity(self, settings: Any, domain: Domain, answered_by: tuple[str, str] | None,
                 ) -> dict[str, Any]:
        """Settings that name a file, with what stands for its content in the run's identity.

        Args:
            settings: of the method.
            domain: of the run.
            answered_by: exact name of the model that answers and identity of the prompt around
                its questions; None: it is not loaded yet, or answers nothing.

        Raises:
            InputError: a file cannot be read, or belongs to another model or domain.
        """

    def learned_problems(self, settings: Any) -> Collection[str]:
        """Keys of the problems (``problem_key``) that the files were learned from."""

    def check_problem(self, settings: Any, domain: Domain, problem: Problem) -> None:
        """Check that the method can work with one of the problems of the run.

        Raises:
            InputError: it cannot; names the setting.
        """

    def check_starts(self, settings: Any, domain: Domain,
                     pairs: Iterable[tuple[str, Problem]]) -> None:
        """Check that the method could ever believe the states in which problems begin.

        Args:
            settings: of the method.
            domain: of the run.
            pairs: split and problem of each episode.

        Raises:
            InputError: a file calls such a state impossible; names both.
        """
