"""Whether pictures that are sent to a server reach its model.

Some servers drop the pictures of a request without a word where the model behind them reads text
alone; its guesses would then be scored as answers about pictures. The prompt of a request with a
picture takes more tokens than that of the same request without it, unless the picture was dropped
or the server does not count pictures. Which of the two it is, three pictures of different colours
tell: a model that sees none of them replies to all three alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model import excerpt

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
    """

    prompt_tokens: int | None
    text: str = ''
    failure: str = ''


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of checking whether pictures reach the model.

    Attributes:
        lost: why pictures do not reach the model; '' if they may.
        unchecked: why that could not be found out; '' if it could.
        seen: how it was found out that they do; '' if it was not.
    """

    lost: str = ''
    unchecked: str = ''
    seen: str = ''

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
        return Finding(unchecked=first.failure)
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
