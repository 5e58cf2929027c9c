"""Whether pictures that are sent to a server reach its model.

Some servers drop the pictures of a request without a word where the model behind them reads text
alone; its guesses would then be scored as answers about pictures. The prompt of a request with a
picture takes more tokens than that of the same request without it, unless the picture was dropped
or the server does not count pictures. Which of the two it is, three pictures of different colours
tell: a model that sees none of them replies to all three alike.
"""

from __future__ import annotations

import abc
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model import BackendError, excerpt

_LOG = logging.getLogger(__name__)
QUESTION = 'Which colour does the picture have? Reply with one word.'
_COLOURS = {'red': (220, 20, 20), 'green': (20, 160, 20), 'blue': (20, 20, 220)}
_EDGE_PX = 224
"""Edge of the pictures [px]: large enough for the processors of all models."""
_PLACEHOLDER_TOKENS = 8
"""Most tokens of the words that a server may put in place of a picture that it drops. Of models
that see, the fewest are 64 to 85 tokens for one picture (of OpenAI's at low detail, and of the
smallest open ones)."""


@dataclass(frozen=True, slots=True)
class Said:
    """A reply to ``QUESTION``.

    Attributes:
        prompt_tokens: of the request, by the server's count; None where it does not count.
        text: what the model said; '' if that was no answer.
        failure: why there is no reply at all; '' if there is one.
        refused: whether the server refuses the request, and so the next one, too.
    """

    prompt_tokens: int | None
    text: str = ''
    failure: str = ''
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of checking whether pictures reach the model.

    Attributes:
        lost: why pictures do not reach the model; '' if they may.
        unchecked: why that could not be found out; '' if it could.
        seen: how it was found out that they do; '' if it was not.
        refused: whether the server refused to be asked.
    """

    lost: str = ''
    unchecked: str = ''
    seen: str = ''
    refused: bool = False

    def __str__(self) -> str:
        """The finding in words."""
        return self.lost or self.seen or f'not known whether pictures arrive: {self.unchecked}'


def colour_picture(colour: str) -> NDArray[np.uint8]:
    """A picture of one colour, (224, 224, 3) uint8 RGB."""
    return np.full((_EDGE_PX, _EDGE_PX, 3), _COLOURS[colour], np.uint8)


def find_out(ask: Callable[[NDArray[np.uint8] | None], Said]) -> Finding:
    """Find out whether pictures reach a model, by two requests, or four if these are inconclusive.

    Args:
        ask: puts ``QUESTION`` to the model, with a picture or without one.
    """
    plain = ask(None)
    first = plain if plain.failure else ask(colour_picture('red'))
    if first.failure:
        return Finding(unchecked=first.failure, refused=first.refused)
    if not plain.prompt_tokens or first.prompt_tokens is None:
        return Finding(unchecked='the server does not say how many tokens a prompt takes')
    more = first.prompt_tokens - plain.prompt_tokens
    if more > _PLACEHOLDER_TOKENS:
        return Finding(seen=f'pictures reach the model: a prompt with a picture takes '
                            f'{first.prompt_tokens} tokens and {plain.prompt_tokens} without')
    said = {'red': first.text, **{colour: ask(colour_picture(colour)).text
                                  for colour in ('green', 'blue')}}
    words = {colour: text.strip().lower() for colour, text in said.items()}
    if all(colour in word for colour, word in words.items()):
        return Finding(seen='pictures reach the model: it names the colours of a red, a green and '
                            'a blue picture')  # the server does not count pictures
    if not all(words.values()) or len(set(words.values())) > 1:
        return Finding(unchecked=f'a picture takes no more tokens than none ({more}), and the '
                                 f'replies to pictures of three colours do not tell')
    return Finding(lost=f'pictures do not reach the model: a prompt with a picture takes '
                        f'{first.prompt_tokens} tokens and {plain.prompt_tokens} without, and a '
                        f'red, a green and a blue picture all get the reply '
                        f'{excerpt(first.text)!r}; serve a model that takes pictures, or start '
                        f'the server such that it does')


class ChecksPictures(abc.ABC):
    """A model behind a server that finds out whether pictures reach it; see ``PictureCheck``."""

    def __init__(self) -> None:
        """Begin without a check."""
        self._checking = threading.Lock()
        self._to_check, self._lost, self._found, self._unchecked = False, '', '', ''

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Contract in ``Model``."""

    @abc.abstractmethod
    def _colour_of(self, picture: NDArray[np.uint8] | None) -> Said:
        """Ask the model for the colour of a uniform picture, or without a picture."""

    @property
    def pictures_lost(self) -> str:
        """Why pictures do not reach the model; '' if they may."""
        return self._lost

    @property
    def picture_check(self) -> str:
        """Way in which it was checked whether pictures reach the model; '' before the check."""
        return self._found

    def check_pictures(self) -> None:
        """Check before the next picture whether pictures reach the model; see ``PictureCheck``."""
        self._to_check = True

    def _before_pictures(self) -> None:
        """Find out whether pictures reach the model, where that is wanted and not known yet.

        Raises:
            BackendError: they do not, or the server cannot be reached; then the next picture is
                checked.
            SpendingCapError: a cap is reached.
        """
        if not (self._to_check or self._lost):
            return
        with self._checking:
            if self._to_check:
                found = find_out(self._colour_of)
                self._to_check, self._found = False, str(found)
                self._lost = found.lost and f'{self.name}: {found.lost}'
                self._unchecked = found.unchecked.removeprefix(f'{self.name}: ')
                if not found.refused:  # else the error of the next request has the same words
                    self._warn_if_unchecked()
        if self._lost:
            raise BackendError(self._lost)

    def _warn_if_unchecked(self) -> None:
        """Warn, once, if the check failed; called when the server has answered a request."""
        unchecked, self._unchecked = self._unchecked, ''
        if unchecked:
            _LOG.warning('%s: it could not be checked whether pictures reach the model: %s',
                         self.name, unchecked)
