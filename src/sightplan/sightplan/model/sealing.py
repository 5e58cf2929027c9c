"""Seal the objects that a method is handed, so that they do not show what stands behind them.

A method gets a few objects: a ``Context``, and samples. Behind them stand the world, the truth and
the names of problems. From an ordinary object Python reaches all that it holds (``__dict__``,
closures, ``__self__`` of bound methods), so that private names hide nothing. A sealed object holds
nothing: what it stands for is in a table of this module.

What this is for: that nothing a method was *handed* tells more than what is shown, neither by
mistake nor by a look into private attributes. What it cannot do: keep a method that runs in the
same process from importing this module, the simulator or the problem files, or from going through
the interpreter's frames; nor keep it from recognising a published problem by what is shown.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec('P')
T = TypeVar('T')

_BEHIND: dict[int, Any] = {}
"""Original objects by the ``id`` of the sealed ones.

A table of weak references would not do: Python reaches the weak references from an object, and
the table from these.
"""


class _Sealed:
    """An object without attributes; the table holds its original as long as it lives."""

    __slots__ = ()

    def __init__(self, behind: object) -> None:
        _BEHIND[id(self)] = behind

    def __del__(self) -> None:
        if _BEHIND is not None:  # it is when the interpreter ends
            _BEHIND.pop(id(self), None)

    def __reduce__(self) -> str:
        raise TypeError('what is handed to a method cannot be copied or pickled')


class Sealed(_Sealed, Generic[P, T]):
    """A callable that hides the function behind it."""

    __slots__ = ()

    def __init__(self, function: Callable[P, T]) -> None:
        super().__init__(function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        """Call the hidden function."""
        return cast('T', _BEHIND[id(self)](*args, **named))


def sealed(contract: type, behind: object) -> Any:
    """Return an object that offers the methods and properties of a protocol, and nothing else.

    Args:
        contract: the protocol.
        behind: the hidden object that the calls are passed to.
    """
    return _facade(contract)(behind)


@functools.cache
def _facade(contract: type) -> type[_Sealed]:
    members = {name: _forward(name, wanted) for base in reversed(contract.__mro__)
               for name, wanted in vars(base).items()
               if not name.startswith('_') and (inspect.isfunction(wanted)
                                                or isinstance(wanted, property))}
    return type(contract.__name__, (_Sealed,), {'__slots__': (), '__doc__': contract.__doc__,
                                                '__module__': contract.__module__, **members})


def _forward(name: str, wanted: Any) -> Any:
    if isinstance(wanted, property):
        return property(lambda self: getattr(_BEHIND[id(self)], name), doc=wanted.__doc__)

    @functools.wraps(wanted)
    def forward(self: _Sealed, *args: Any, **named: Any) -> Any:
        return getattr(_BEHIND[id(self)], name)(*args, **named)
    return forward
