"""Tiny models of real architectures as GGUF files, which llama.cpp serves: no downloads.

The text model is a Qwen2-VL of one layer, and the vision projector its ViT of one layer. Weights
are made by hand on top of small random ones, such that it behaves like one that was trained:

* it replies ``Yes`` or ``No``, and then ends its turn;
* which of the two depends on the words of the prompt and on the colours of its pictures;
* a prompt with the word "letter" gets one of the letters A to D instead;
* where a grammar demands other text, it prefers 0, and marks that close what is open.

Attention is almost uniform, so the state of the last token is the mean of what the prompt holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

_SPECIAL = ('<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|vision_start|>', '<|vision_end|>',
            '<|image_pad|>')
_END = _SPECIAL.index('<|im_end|>')
_SENTENCES = (
    'Yes No yes no Yes. No. YES NO unknown Unknown',
    'You are a robot that looks at a picture. Answer the question about it with yes or no.',
    'Is the red block on top of the blue block? Is the green block directly on top of the others?',
    'Is the yellow block in the column labeled "c1"? Is the orange block the topmost one?',
    'Goal: the purple block is in column c3. Now: what do you see? Which action comes next?',
    'Reply with one word, with one letter. Question: Answer: <answer>yes</answer> <explanation>',
    '{"action": "move", "parameters": ["b1", "c2"], "point": [1, 2], "plan": []}')
CHAT_TEMPLATE = (
    "{%- for m in messages -%}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    '{%- endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}')
_WIDTH, _HEADS, _HIDDEN, _LAYERS = 64, 2, 96, 1
_VISION_WIDTH, _PATCH, _MERGE = 32, 14, 2
_CONSTANT, _ENDS, _COLOURS, _LETTER, _MEANING = 0, 1, slice(2, 5), 5, slice(6, _WIDTH)
"""Dimensions of the text model's state: 1 at every token; 1 after an answer; mean colour of the
pictures; how often the prompt speaks of letters; random features of words."""
_LETTERS = ('A', 'B', 'C', 'D')
_ANSWER_LOGIT, _CLOSING_LOGIT, _END_WEIGHT = 9.0, 5.0, 8.0
_LETTER_WEIGHT = 120.0
"""Weight of a mention of letters, which is diluted by all other words of the prompt."""
_CLOSING = '"}],'
_LINEAR_SHIFT = 12.0
"""Input at which GELU passes its argument through unchanged."""


@dataclass(frozen=True, slots=True)
class TinyGguf:
    """Paths of a tiny model.

    Attributes:
        text: weights, tokenizer and chat template; on its own, a model that reads text alone.
        projector: the vision tower for ``--mmproj``.
    """

    text: Path
    projector: Path


def make_tiny_gguf(folder: Path, seed: int = 0) -> TinyGguf:
    """Write a tiny vision-language model (about 1 MB) into a folder; it takes half a second."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    made = TinyGguf(folder / 'tiny-qwen2vl.gguf', folder / 'mmproj-tiny-qwen2vl.gguf')
    _write_text(made.text, random)
    _write_projector(made.projector, random)
    return made


def _vocabulary() -> tuple[list[str], list[str]]:
    """Tokens in their order (special ones first), and merges of a byte-level BPE tokenizer."""
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(_SENTENCES * 20, trainers.BpeTrainer(
        vocab_size=512, special_tokens=list(_SPECIAL), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(tokenizer.to_str())['model']
    tokens = sorted(model['vocab'], key=model['vocab'].__getitem__)
    return tokens, [pair if isinstance(pair, str) else ' '.join(pair) for pair in model['merges']]


def _write_text(path: Path, random: np.random.Generator) -> None:
    tokens, merges = _vocabulary()
    head = _WIDTH // _HEADS
    writer = gguf.GGUFWriter(path, 'qwen2vl')
    writer.add_name('tiny random Qwen2-VL')
    writer.add_context_length(8192)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e4)
    writer.add_rope_dimension_sections([head // 8, head // 8 + 2, head // 4 - 2, 0])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('gpt-2')
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in _SPECIAL else gguf.TokenType.NORMAL
                            for token in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(_END)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    _add(writer, _text_weights(tokens, random))


def _text_weights(tokens: list[str], random: np.random.Generator) -> dict[str, NDArray[Any]]:
    number = {token: index for index, token in enumerate(tokens)}
    answers = {word: [number[form] for form in (word, word.lower(), word.upper(), f'Ġ{word}')
                      if form in number] for word in ('Yes', 'No')}
    embedding = np.zeros((len(tokens), _WIDTH))
    embedding[:, _CONSTANT] = 1
    embedding[:, _MEANING] = random.normal(size=embedding[:, _MEANING].shape)
    embedding[number['Ċ'], _MEANING] = 0  # the last token of every prompt
    for forms in answers.values():
        embedding[forms, _ENDS] = 8
    spoken_of = [number[token] for token in ('letter', 'Ġletter') if token in number]
    letters = [number[letter] for letter in _LETTERS]
    embedding[spoken_of] = 0
    embedding[spoken_of, _LETTER] = 8
    embedding[letters, _ENDS] = 8
    output = random.normal(scale=.02, size=embedding.shape)
    opinion = random.normal(scale=.15, size=_WIDTH)
    opinion[[_CONSTANT, _ENDS, _LETTER]] = 0
    opinion[_COLOURS] = .6, -.3, .2
    for word, sign in (('Yes', 1), ('No', -1)):
        output[answers[word]] += sign * opinion
        output[answers[word], _CONSTANT] = _ANSWER_LOGIT - .5 * np.arange(len(answers[word]))
    output[letters, _LETTER] = _LETTER_WEIGHT
    output[letters, _ENDS] = -_LETTER_WEIGHT
    output[letters, _MEANING] += .3 * random.normal(size=output[letters, _MEANING].shape)
    output[[number[mark] for mark in _CLOSING], _CONSTANT] = _CLOSING_LOGIT
    output[number['0'], _CONSTANT] = _CLOSING_LOGIT / 2
    output[number['"'], _ENDS] = _END_WEIGHT / 2
    output[[number[space] for space in ('Ġ', 'Ċ', 'ĉ')], _CONSTANT] = -_CLOSING_LOGIT
    output[_END, _ENDS] = _END_WEIGHT
    carried = np.zeros((_WIDTH, _WIDTH))
    kept = np.r_[2:_WIDTH]
    carried[kept, kept] = 4
    weights = {'token_embd.weight': embedding, 'output.weight': output,
               'output_norm.weight': np.ones(_WIDTH)}
    for layer in range(_LAYERS):
        name = f'blk.{layer}.'
        for part in ('attn_norm', 'ffn_norm'):
            weights[f'{name}{part}.weight'] = np.ones(_WIDTH)
        for part in ('attn_q', 'attn_k'):
            weights[f'{name}{part}.weight'] = random.normal(scale=.02, size=(_WIDTH, _WIDTH))
            weights[f'{name}{part}.bias'] = np.zeros(_WIDTH)
        weights |= {f'{name}attn_v.weight': carried, f'{name}attn_v.bias': np.zeros(_WIDTH),
                    f'{name}attn_output.weight': np.eye(_WIDTH)}
        for part, shape in (('ffn_gate', (_HIDDEN, _WIDTH)), ('ffn_up', (_HIDDEN, _WIDTH)),
                            ('ffn_down', (_WIDTH, _HIDDEN))):
            weights[f'{name}{part}.weight'] = random.normal(scale=.02, size=shape)
        weights[f'{name}ffn_down.weight'][[_CONSTANT, _ENDS, _LETTER]] = 0
    return weights


def _write_projector(path: Path, random: np.random.Generator) -> None:
    writer = gguf.GGUFWriter(path, 'clip')
    writer.add_string('general.type', 'mmproj')
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type('qwen2vl_merger')
    writer.add_vision_image_size(224)
    writer.add_vision_patch_size(_PATCH)
    writer.add_vision_embedding_length(_VISION_WIDTH)
    writer.add_vision_feed_forward_length(2 * _VISION_WIDTH)
    writer.add_vision_block_count(1)
    writer.add_vision_head_count(2)
    writer.add_vision_projection_dim(_WIDTH)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_spatial_merge_size(_MERGE)
    writer.add_vision_image_mean([.5, .5, .5])
    writer.add_vision_image_std([.5, .5, .5])
    writer.add_vision_use_gelu(True)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add(writer, _projector_weights(random))


def _projector_weights(random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """The mean colour of a patch goes through to the text model; the rest is noise."""
    width = _VISION_WIDTH
    patch = random.normal(scale=.002, size=(width, 3, _PATCH, _PATCH))
    for colour in range(3):
        patch[colour, colour] += 1 / _PATCH ** 2
        patch[3 + colour, colour] -= 1 / _PATCH ** 2  # so that the norm's mean stays 0
    weights: dict[str, NDArray[Any]] = {'v.patch_embd.weight': patch / 2,
                                        'v.patch_embd.weight.1': patch / 2}
    for part in ('attn_q', 'attn_k', 'attn_v', 'attn_out'):
        weights[f'v.blk.0.{part}.weight'] = random.normal(scale=.02, size=(width, width))
        weights[f'v.blk.0.{part}.bias'] = np.zeros(width)
    for part, shape in (('ffn_up', (2 * width, width)), ('ffn_down', (width, 2 * width))):
        weights[f'v.blk.0.{part}.weight'] = random.normal(scale=.02, size=shape)
        weights[f'v.blk.0.{part}.bias'] = np.zeros(shape[0])
    for norm in ('v.blk.0.ln1', 'v.blk.0.ln2', 'v.post_ln'):
        weights |= {f'{norm}.weight': np.ones(width), f'{norm}.bias': np.zeros(width)}
    merged = _MERGE ** 2 * width
    last = random.normal(scale=.05, size=(_WIDTH, merged))
    last[:_MEANING.start] = 0
    for index in range(_MERGE ** 2):
        last[_COLOURS, index * width:index * width + 3] = np.eye(3) / _MERGE ** 2
    bias = -_LINEAR_SHIFT * last.sum(1)
    bias[_CONSTANT] += 1
    return weights | {
        'mm.0.weight': np.eye(merged), 'mm.0.bias': np.full(merged, _LINEAR_SHIFT),
        'mm.2.weight': last, 'mm.2.bias': bias}


def _add(writer: Any, weights: Mapping[str, NDArray[Any]]) -> None:
    for name, weight in weights.items():
        writer.add_tensor(name, np.ascontiguousarray(weight, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
