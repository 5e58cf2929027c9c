"""Prompts as a model's own chat template writes them, and their inputs by its processor."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

from sightplan.model import BackendError, GroundingPrompt
from sightplan_models._model_loading import FAILURES
from sightplan_models._processors import reason

SENTINEL = 'QUESTION-GOES-HERE'
"""Text that stands for the question while the text around it is rendered."""
ANSWER_TAGS = ('<answer>', '</answer>')
"""Tags around an answer that follows reasons; texts of prompts may hold them."""

_LOG = logging.getLogger(__name__)
_SPECIAL_LETTERS = 3
"""Shorter special tokens (a "!" that fills up) are words, too."""


class ChatPrompts:
    """A processor's chat: system text and the user's texts and images, rendered and tokenized.

    Args:
        label: what warnings begin with.
        name: the model's, for errors.
        processor: it has a tokenizer and takes images.
        template_options: arguments of the chat template.

    Raises:
        BackendError: the processor has no tokenizer, takes no images or has no chat template.
    """

    def __init__(self, label: str, name: str, processor: Any,
                 template_options: dict[str, Any]) -> None:
        self._label = label
        self._name = name
        self._processor = processor
        self._tokenizer: Any = getattr(processor, 'tokenizer', None)
        if self._tokenizer is None or not hasattr(processor, 'image_processor'):
            raise BackendError(f'{label}: the processor of {name} does not take texts and images; '
                               'choose an image-text-to-text model')
        if not (getattr(processor, 'chat_template', None)
                or getattr(self._tokenizer, 'chat_template', None)):
            raise BackendError(f'{label}: {name} has no chat template; choose the instruction-'
                               'tuned version of the model, or put a chat_template.jinja into its '
                               'folder')
        self._template_options = template_options
        self._specials = self._special_tokens()
        self._added = any_of(self._tokenizer.get_added_vocab())
        self._moves_pictures = False
        """Whether it was said that the template moves pictures."""
        self.split = functools.lru_cache(maxsize=64)(self._split)
        """Function from a GroundingPrompt and a scene in words to the text around the question."""

    def render(self, system: str, parts: Sequence[str | None]) -> str:
        """The prompt as text, by the chat template.

        Templates differ in the form of a system text they take; the first form whose result holds
        all texts is used.

        Args:
            system: system text; '' for none.
            parts: of the user's message: texts, and None for an image.

        Raises:
            BackendError: the template leaves out or changes a text.
        """
        system = self.harmless(system)
        parts = [part and self.harmless(part) for part in parts]
        content = [{'type': 'image'} if part is None else {'type': 'text', 'text': part}
                   for part in parts if part != '']
        said = [{'type': 'text', 'text': system}]
        user = [{'role': 'user', 'content': content}]
        forms: list[list[dict[str, Any]]] = [user]
        if system:
            forms = [[{'role': 'system', 'content': said}, *user],
                     [{'role': 'system', 'content': system}, *user],
                     [{'role': 'user', 'content': [*said, *content]}]]
        texts = [text.strip() for text in (system, *(part for part in parts if part))]
        reasons = []
        for form in forms:
            try:
                rendered = str(self._processor.apply_chat_template(
                    form, add_generation_prompt=True, tokenize=False, **self._template_options))
            except Exception as error:  # templates raise what they like
                reasons.append(reason(error))
                continue
            if all(text in rendered for text in texts) and "'type':" not in rendered.replace(
                    '\n'.join(texts), ''):
                self._look_at_pictures(rendered, parts)
                return rendered
            reasons.append('it leaves out or changes a text')
        raise BackendError(f'the chat template of {self._name} cannot be used '
                           f'({"; ".join(dict.fromkeys(reasons))}); choose another model')

    def inputs(self, text: str, images: Sequence[Any]) -> dict[str, Any]:
        """Inputs of the model for a rendered prompt and its images: a batch of one.

        Raises:
            BackendError: the processor refuses the prompt.
        """
        # As the processor's own chat does: images are those of one prompt, not of several, which
        # some processors prepare in another way, and a beginning is not written twice.
        more: dict[str, Any] = {'images': [list(images)]} if images else {}
        begin = self._tokenizer.bos_token
        if begin and text.startswith(begin):
            more['add_special_tokens'] = False
        try:
            return dict(self._processor(text=[text], return_tensors='pt', **more))
        except FAILURES as error:
            raise BackendError(f'the processor of {self._name} refuses the prompt '
                               f'({reason(error)}); texts must not hold its image '
                               'tokens') from error

    def tail_ids(self, head: str, rest: str) -> tuple[int, ...]:
        """Token ids of the text after the last special token of ``head``.

        That token stands before the text, so that the tokenizer treats its beginning as it does
        within a whole prompt.
        """
        marks = list(self._added.finditer(head))
        if not marks:
            return ()
        anchor = marks[-1].group()
        ids = self._tokenizer(anchor + head[marks[-1].end():] + rest,
                              add_special_tokens=False)['input_ids']
        known = self._tokenizer.convert_tokens_to_ids(anchor)
        return tuple(ids[1:]) if ids and ids[0] == known else ()

    def asked(self, prompt: GroundingPrompt, question: str) -> str:
        """Text of a question in the prompt."""
        return self.harmless(prompt.ask(question)).strip()

    def harmless(self, text: str) -> str:
        """A text without tokens to which the model gives a meaning of their own.

        Names of objects, memories and histories (what a model itself wrote) may hold an end of
        turn or an image's place. They are to be read, not obeyed, and must not end an episode
        either: a space after the first sign makes them plain text ("< |im_end|>").
        """
        return without_tokens(text, self._specials)

    def _special_tokens(self) -> re.Pattern[str]:
        """Tokens that no text of a prompt may hold; tags of answers may be there."""
        tokens = {str(token) for token in self._tokenizer.all_special_tokens}
        tokens |= {str(token) for token in getattr(
            self._tokenizer, 'added_tokens_decoder', {}).values()
            if getattr(token, 'special', False)}
        tokens |= {str(value) for name, value in vars(self._processor).items()
                   if name.endswith('_token') and isinstance(value, str)}
        return any_of(token for token in tokens - set(ANSWER_TAGS)
                       if len(token) >= _SPECIAL_LETTERS)

    def _split(self, prompt: GroundingPrompt, described: str | None = None) -> tuple[str, str]:
        text = self.render(prompt.system, parts_of(prompt, SENTINEL, described))
        head, found, foot = text.rpartition(SENTINEL)
        if not found:
            raise BackendError(f'the chat template of {self._name} leaves out the '
                               'question; choose another model')
        return head, foot

    def _look_at_pictures(self, rendered: str, parts: Sequence[str | None]) -> None:
        """Warn, once, of a template that moves several pictures away from their texts."""
        mark = getattr(self._processor, 'image_token', None)
        if self._moves_pictures or not isinstance(mark, str) or parts.count(None) < 2:
            return
        place = 0
        for part in parts:
            text = mark if part is None else part.strip()
            found = rendered.find(text, place)
            if found < 0:
                self._moves_pictures = True
                _LOG.warning(
                    '%s: the chat template of %s moves all pictures ahead of the texts, so that '
                    'texts that introduce one ("Goal:") do not stand before it: the model knows '
                    'pictures by their order alone', self._label, self._name)
                return
            place = found + len(text)


def parts_of(prompt: GroundingPrompt, question: str, described: str | None = None,
             ) -> list[str | None]:
    """Parts of the user's message: texts, and None for the image.

    Args:
        prompt: the words around the question.
        question: in the template of the prompt.
        described: the scene in words, in the place of an image; None: there is an image.
    """
    after = prompt.after_image
    gap = '\n' if after and not after[-1].isspace() else ''
    if described is None:
        return [prompt.before_image, None, after + gap + question]
    return ['\n'.join(filter(None, (prompt.before_image, described, after + gap + question)))]


def without_tokens(text: str, tokens: re.Pattern[str]) -> str:
    """A text in which a space after its first sign makes each of some tokens plain text."""
    while True:
        plain = tokens.sub(lambda found: f'{found[0][0]} {found[0][1:]}', text)
        if plain == text:
            return plain
        text = plain


def any_of(tokens: Iterable[str]) -> re.Pattern[str]:
    """Pattern that matches any of the tokens, the longest first."""
    return re.compile('|'.join(map(re.escape, sorted(tokens, key=len, reverse=True))) or r'(?!)')
