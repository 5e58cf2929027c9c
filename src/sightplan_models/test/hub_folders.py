"""Model folders as the hub has them, one for each architecture of docs/models.md, made small.

Weights are random and layers few, but every file that decides what a model is asked is of the real
kind: configuration class, processor class, tokenizer class (with its way of splitting text), names
of the image processor and of the half for videos as checkpoints write them, and a chat template
of the shape that the checkpoint's own template has (which role takes the system text, where
pictures stand, what is trimmed, which texts come of themselves). Transformers loads them by its
Auto classes, from the files alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import transformers as hf

from tiny_models import _HYBRID, _VISION, _rope, _siglip, randomise, small_text

_SENTENCES = (
    'Is the red block on top of the blue block? Yes No yes no YES NO',
    'Question: Is the yellow block in the column labeled "c3"? Answer with one word.',
    'You look at a picture. This is the scene. Before: the answer was no. Be brief.',
    '<explanation>It stands there.</explanation>\n<answer>yes</answer> Unknown unknown')

# Chat templates ----------------------------------------------------------------------------------

_QWEN_PARTS = (
    "{%- if message.content is string %}{{- message.content }}{%- else %}"
    "{%- for content in message.content %}{%- if content.type == 'image' or 'image' in content %}"
    '{%- if add_vision_id %}Picture {{ loop.index }}: {% endif -%}'
    '<|vision_start|><|image_pad|><|vision_end|>'
    "{%- elif content.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{%- elif 'text' in content %}{{- content.text }}{%- endif %}{%- endfor %}{%- endif %}")

QWEN2_5_VL = (
    "{%- for message in messages %}{%- if loop.first and message.role != 'system' %}"
    "{{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{%- endif %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}" + _QWEN_PARTS +
    "{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")
"""A system text of its own stands where the user gives none."""

QWEN3_VL = (
    "{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\\n' }}"
    "{%- if messages[0].content is string %}{{- messages[0].content }}{%- else %}"
    "{%- for content in messages[0].content %}{%- if 'text' in content %}{{- content.text }}"
    "{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}{%- if message.role == 'user' %}{{- '<|im_start|>user\\n' }}"
    + _QWEN_PARTS + "{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")

INTERNVL = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for content in message['content'] %}{% if content['type'] == 'image' %}"
    "{{ '<IMG_CONTEXT>\\n' }}{% elif content['type'] == 'video' %}{{ '<video>\\n' }}"
    "{% elif content['type'] == 'text' %}{{ content['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

LLAVA_ONEVISION = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'image') %}"
    "{{ '<image>\\n' }}{% endfor %}"
    "{% for content in message['content'] | selectattr('type', 'equalto', 'text') %}"
    "{{ content['text'] }}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
"""All pictures stand before all texts of a message."""

GEMMA3 = (
    "{{ bos_token }}{%- if messages[0]['role'] == 'system' -%}"
    "{%- set first = (messages[0]['content'] if messages[0]['content'] is string else "
    "messages[0]['content'][0]['text']) + '\\n\\n' -%}{%- set rest = messages[1:] -%}"
    "{%- else -%}{%- set first = '' -%}{%- set rest = messages -%}{%- endif -%}"
    '{%- for message in rest -%}'
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}"
    "{{ raise_exception('roles must alternate') }}{%- endif -%}"
    "{{ '<start_of_turn>' + message['role'] + '\\n' + (first if loop.first else '') }}"
    "{%- if message['content'] is string -%}{{ message['content'] | trim }}{%- else -%}"
    "{%- for item in message['content'] -%}{%- if item['type'] == 'image' -%}"
    "{{ '<start_of_image>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}"
    "{%- endif -%}{%- endfor -%}{%- endif -%}{{ '<end_of_turn>\\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}")
"""The system text opens the user's turn; every text is trimmed."""

MISTRAL3 = (
    '{{- bos_token }}'
    "{%- if messages[0]['role'] == 'system' %}{%- if messages[0]['content'] is string %}"
    "{%- set said = messages[0]['content'] %}{%- else %}"
    "{%- set said = messages[0]['content'][0]['text'] %}{%- endif %}"
    '{%- set rest = messages[1:] %}{%- else %}'
    "{%- set said = 'Today is ' + strftime_now('%Y-%m-%d') + '.' %}{%- set rest = messages %}"
    "{%- endif %}{{- '[SYSTEM_PROMPT]' + said + '[/SYSTEM_PROMPT]' }}"
    "{%- for message in rest %}{%- if message['content'] is string %}"
    "{{- '[INST]' + message['content'] + '[/INST]' }}{%- else %}{{- '[INST]' }}"
    "{%- for block in message['content'] %}{%- if block['type'] == 'text' %}"
    "{{- block['text'] }}{%- elif block['type'] in ('image', 'image_url') %}{{- '[IMG]' }}"
    "{%- else %}{{- raise_exception('text and images only') }}{%- endif %}{%- endfor %}"
    "{{- '[/INST]' }}{%- endif %}{%- endfor %}")
"""Nothing stands between the user's turn and the reply, and without a system text a date does."""

AYA_VISION = (
    "{{ bos_token }}<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>You are Aya Vision."
    '<|END_OF_TURN_TOKEN|>\n{%- for message in messages -%}\n'
    "<|START_OF_TURN_TOKEN|>{{ message.role | replace('user', '<|USER_TOKEN|>') | "
    "replace('assistant', '<|CHATBOT_TOKEN|><|START_RESPONSE|>') | "
    "replace('system', '<|SYSTEM_TOKEN|>') }}"
    '{%- if message.content is string -%}\n{{ message.content }}\n{%- else -%}'
    "{%- for item in message.content | selectattr('type', 'equalto', 'image') -%}\n<image>\n"
    "{%- endfor -%}{%- for item in message.content | selectattr('type', 'equalto', 'text') -%}\n"
    '{{ item.text }}\n{%- endfor -%}{%- endif -%}\n<|END_OF_TURN_TOKEN|>\n{%- endfor -%}\n'
    '{%- if add_generation_prompt -%}\n<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_RESPONSE|>'
    '\n{%- endif %}')
"""Its own system text and the user's; all pictures stand before all texts of a message."""

SMOLVLM = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}"
    "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}"
    '<end_of_utterance>\n{% endfor %}'
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")
"""The reply follows a colon, without a token between."""

# Tokenizers --------------------------------------------------------------------------------------


@functools.cache
def _pieces(metaspace: bool) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Pieces and merges of a byte-pair tokenizer learnt from a few sentences, in bytes or not."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Metaspace(prepend_scheme='never') if metaspace
        else pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.train_from_iterator([*_SENTENCES] * 50, trainers.BpeTrainer(
        vocab_size=420, show_progress=False, special_tokens=[],
        initial_alphabet=[] if metaspace else pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(tokenizer.to_str())['model']
    return (tuple(sorted(model['vocab'], key=model['vocab'].__getitem__)),
            tuple(tuple(pair) for pair in model['merges']))


def _tokenizer(kind: str, first: list[str], special: list[str], metaspace: bool = False,
               **more: Any) -> Any:
    """A small tokenizer of a class of transformers; ``first`` are its tokens from 0 on."""
    pieces, merges = _pieces(metaspace)
    vocabulary = {piece: number for number, piece in enumerate(
        dict.fromkeys([*first, *pieces]))}
    tokenizer = getattr(hf, kind)(vocab=vocabulary, merges=list(merges), **more)
    tokenizer.add_special_tokens({'additional_special_tokens': special})
    return tokenizer


def _qwen(special: list[str], **more: Any) -> Any:
    return _tokenizer('Qwen2Tokenizer', ['<|endoftext|>'],
                      ['<|im_start|>', '<|im_end|>', *special],
                      eos_token='<|im_end|>', pad_token='<|endoftext|>', **more)


def _gemma() -> Any:
    special = ['<start_of_image>', '<end_of_image>', '<image_soft_token>']
    return _tokenizer(
        'GemmaTokenizer', ['<pad>', '<eos>', '<bos>', '<unk>', '<mask>',
                           *(f'<0x{byte:02X}>' for byte in range(256))],
        ['<start_of_turn>', '<end_of_turn>', *special], metaspace=True,
        extra_special_tokens=dict(zip(('boi_token', 'eoi_token', 'image_token'), special,
                                      strict=True)))


def _cohere() -> Any:
    return _tokenizer(
        'CohereTokenizer', ['<PAD>', '<UNK>', '<CLS>', '<SEP>', '<MASK_TOKEN>', '<BOS_TOKEN>'],
        ['<|START_OF_TURN_TOKEN|>', '<|END_OF_TURN_TOKEN|>', '<|SYSTEM_TOKEN|>', '<|USER_TOKEN|>',
         '<|CHATBOT_TOKEN|>', '<|START_RESPONSE|>', '<|END_RESPONSE|>', '<image>',
         '<|START_OF_IMG|>', '<|END_OF_IMG|>', '<|IMG_PATCH|>', '<|IMG_LINE_BREAK|>',
         'TILE_GLOBAL', *(f'TILE_{number}' for number in range(1, 13))])


def _bytes(special: list[str], eos: str, begins: bool) -> Any:
    """A tokenizer of bytes; ``begins`` puts <s> before each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.processors import TemplateProcessing
    first = ['<unk>', '<s>', '</s>', '<pad>', *special]
    pieces, merges = _pieces(False)
    tokenizer = Tokenizer(models.BPE(
        vocab={piece: number for number, piece in enumerate([*first, *pieces])},
        merges=list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if begins:
        tokenizer.post_processor = TemplateProcessing(single='<s> $A',
                                                      special_tokens=[('<s>', 1)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token='<unk>', bos_token='<s>', eos_token=eos,
        pad_token='<pad>', additional_special_tokens=special)


def _mistral() -> Any:
    return _bytes(['[INST]', '[/INST]', '[SYSTEM_PROMPT]', '[/SYSTEM_PROMPT]', '[IMG]',
                   '[IMG_BREAK]', '[IMG_END]'], '</s>', True)


def _smol() -> Any:
    return _bytes(['<|im_start|>', '<end_of_utterance>', '<image>', '<fake_token_around_image>',
                   '<global-img>', *(f'<row_{row}_col_{column}>' for row in range(1, 5)
                                     for column in range(1, 5))], '<end_of_utterance>', False)


# Models ------------------------------------------------------------------------------------------

def _text(tokenizer: Any, kind: str = '', **more: Any) -> Any:
    values = small_text(tokenizer, **more)
    return getattr(hf, kind)(**values) if kind else values


def _grid(name: str, tokenizer: Any, vision: dict[str, Any], **text: Any) -> Any:
    start, end, image, video = (tokenizer.convert_tokens_to_ids(token) for token in _QWEN_SPECIAL)
    vision = {'depth': 2, 'hidden_size': 32, 'intermediate_size': 64, 'num_heads': 2,
              'spatial_merge_size': 2, 'temporal_patch_size': 2, 'out_hidden_size': 64, **vision}
    return getattr(hf, f'{name}Config')(
        vision_config=vision, text_config=_text(tokenizer, **text), image_token_id=image,
        video_token_id=video, vision_start_token_id=start, vision_end_token_id=end)


def _qwen2_5_vl(tokenizer: Any) -> Any:
    return _grid('Qwen2_5_VL', tokenizer, {'patch_size': 14, 'window_size': 56,
                                           'fullatt_block_indexes': [1]},
                 rope_parameters=_rope(2, 3, 3))


_QWEN3_VISION: dict[str, Any] = {'patch_size': 16, 'num_position_embeddings': 64,
                                 'deepstack_visual_indexes': [0]}
_QWEN3_ROPE = _rope(4, 2, 2, mrope_interleaved=True)
_EXPERTS: dict[str, Any] = {'num_experts': 4, 'num_experts_per_tok': 2, 'head_dim': 16,
                            'moe_intermediate_size': 48, 'decoder_sparse_step': 1,
                            'norm_topk_prob': True}


def _qwen3_vl(tokenizer: Any) -> Any:
    return _grid('Qwen3VL', tokenizer, _QWEN3_VISION, head_dim=16, rope_parameters=_QWEN3_ROPE)


def _qwen3_vl_moe(tokenizer: Any) -> Any:
    return _grid('Qwen3VLMoe', tokenizer, _QWEN3_VISION, rope_parameters=_QWEN3_ROPE, **_EXPERTS)


def _internvl(kind: str, **text: Any) -> Callable[[Any], Any]:
    def config(tokenizer: Any) -> Any:
        return hf.InternVLConfig(
            vision_config={**_VISION, 'image_size': [32, 32], 'patch_size': [4, 4]},
            text_config=_text(tokenizer, kind, **text), image_seq_length=16,
            image_token_id=tokenizer.convert_tokens_to_ids('<IMG_CONTEXT>'))
    return config


def _llava_onevision(tokenizer: Any) -> Any:
    return hf.LlavaOnevisionConfig(
        vision_config=_siglip(patch_size=8), text_config=_text(tokenizer, 'Qwen2Config'),
        image_token_index=tokenizer.convert_tokens_to_ids('<image>'),
        video_token_index=tokenizer.convert_tokens_to_ids('<video>'),
        image_grid_pinpoints=_PINPOINTS)


def _gemma3(tokenizer: Any) -> Any:
    start, end, soft = map(tokenizer.convert_tokens_to_ids, (
        '<start_of_image>', '<end_of_image>', '<image_soft_token>'))
    return hf.Gemma3Config(
        vision_config=_siglip(), text_config=_text(
            tokenizer, 'Gemma3TextConfig', head_dim=16, query_pre_attn_scalar=16,
            sliding_window=24, layer_types=_HYBRID[:2]),
        mm_tokens_per_image=16, image_token_index=soft, boi_token_index=start,
        eoi_token_index=end)


def _mistral3(tokenizer: Any) -> Any:
    return hf.Mistral3Config(
        vision_config=hf.PixtralVisionConfig(**_VISION, image_size=64, patch_size=4),
        text_config=_text(tokenizer, 'MistralConfig', head_dim=16, sliding_window=None),
        image_token_index=tokenizer.convert_tokens_to_ids('[IMG]'), spatial_merge_size=2)


def _smolvlm(tokenizer: Any) -> Any:
    return hf.SmolVLMConfig(
        vision_config={**_VISION, 'image_size': 32, 'patch_size': 4},
        text_config=_text(tokenizer, 'LlamaConfig'), scale_factor=4,
        image_token_id=tokenizer.convert_tokens_to_ids('<image>'))


def _aya_vision(tokenizer: Any) -> Any:
    return hf.AyaVisionConfig(
        vision_config=_siglip(), text_config=_text(
            tokenizer, 'Cohere2Config', sliding_window=24, layer_types=_HYBRID[:2],
            logit_scale=.25),
        image_token_index=tokenizer.convert_tokens_to_ids('<|IMG_PATCH|>'),
        downsample_factor=2, adapter_layer_norm_eps=1e-6)


_QWEN_SPECIAL = ['<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>']
_INTERNVL_SPECIAL = ['<IMG_CONTEXT>', '<img>', '</img>', '<video>']
_PINPOINTS = [[32, 32], [32, 64], [64, 32], [64, 64]]
_SMALL = {'height': 32, 'width': 32}


def _internvl_tokenizer() -> Any:
    names = ('context_image_token', 'start_image_token', 'end_image_token', 'video_token')
    return _qwen(_INTERNVL_SPECIAL,
                 extra_special_tokens=dict(zip(names, _INTERNVL_SPECIAL, strict=True)))


@dataclass(frozen=True)
class HubFolder:
    """What the folder of one architecture holds.

    Attributes:
        model: class of the model, without ``ForConditionalGeneration``.
        processor: class of the processor.
        template: chat template.
        tokenizer: makes the tokenizer.
        config: makes the configuration from the tokenizer.
        pictures: ``preprocessor_config.json``, without the processor's class.
        whole: ``processor_config.json``, likewise.
        videos: class in ``video_preprocessor_config.json``; '' where checkpoints have no such
            file.
        template_file: name of the chat template's file.
        interleaved: whether the template keeps pictures between the texts they stand between.
    """

    model: str
    processor: str
    template: str
    tokenizer: Callable[[], Any]
    config: Callable[[Any], Any]
    pictures: dict[str, Any]
    whole: dict[str, Any] = field(default_factory=dict)
    videos: str = ''
    template_file: str = 'chat_template.jinja'
    interleaved: bool = True


_QWEN3 = {'image_processor_type': 'Qwen2VLImageProcessorFast', 'patch_size': 16,
          'temporal_patch_size': 2, 'merge_size': 2,
          'size': {'shortest_edge': 4096, 'longest_edge': 65536}}
_GOT = {'image_processor_type': 'GotOcr2ImageProcessorFast', 'size': _SMALL,
        'crop_to_patches': False, 'min_patches': 1, 'max_patches': 12}


def _internvl_folder(config: Callable[[Any], Any]) -> HubFolder:
    return HubFolder('InternVL', 'InternVLProcessor', INTERNVL, _internvl_tokenizer, config, _GOT,
                     {'image_seq_length': 16}, 'InternVLVideoProcessor')


FOLDERS: dict[str, HubFolder] = {
    'qwen2_5_vl': HubFolder(
        'Qwen2_5_VL', 'Qwen2_5_VLProcessor', QWEN2_5_VL, lambda: _qwen(_QWEN_SPECIAL),
        _qwen2_5_vl, {'image_processor_type': 'Qwen2VLImageProcessor', 'patch_size': 14,
                      'temporal_patch_size': 2, 'merge_size': 2, 'min_pixels': 3136,
                      'max_pixels': 50176}, template_file='chat_template.json'),
    'qwen3_vl': HubFolder(
        'Qwen3VL', 'Qwen3VLProcessor', QWEN3_VL, lambda: _qwen(_QWEN_SPECIAL), _qwen3_vl,
        _QWEN3, videos='Qwen3VLVideoProcessor', template_file='chat_template.json'),
    'qwen3_vl_moe': HubFolder(
        'Qwen3VLMoe', 'Qwen3VLProcessor', QWEN3_VL, lambda: _qwen(_QWEN_SPECIAL), _qwen3_vl_moe,
        _QWEN3, videos='Qwen3VLVideoProcessor', template_file='chat_template.json'),
    'internvl': _internvl_folder(_internvl('Qwen2Config')),
    'internvl_qwen3': _internvl_folder(_internvl('Qwen3Config', head_dim=16)),
    'internvl_qwen3_moe': _internvl_folder(_internvl('Qwen3MoeConfig', **_EXPERTS)),
    'llava_onevision': HubFolder(
        'LlavaOnevision', 'LlavaOnevisionProcessor', LLAVA_ONEVISION,
        lambda: _qwen(['<image>', '<video>']), _llava_onevision,
        {'image_processor_type': 'LlavaOnevisionImageProcessor', 'size': _SMALL,
         'image_grid_pinpoints': _PINPOINTS},
        {'num_image_tokens': 16, 'vision_feature_select_strategy': 'full'},
        'LlavaOnevisionVideoProcessor', 'chat_template.json', interleaved=False),
    'gemma3': HubFolder(
        'Gemma3', 'Gemma3Processor', GEMMA3, _gemma, _gemma3,
        {'image_processor_type': 'Gemma3ImageProcessor', 'size': _SMALL, 'image_seq_length': 16},
        {'image_seq_length': 16}, template_file='chat_template.json'),
    'mistral3': HubFolder(
        'Mistral3', 'PixtralProcessor', MISTRAL3, _mistral, _mistral3,
        {'image_processor_type': 'PixtralImageProcessorFast', 'patch_size': 4,
         'size': {'longest_edge': 64}},
        {'patch_size': 4, 'spatial_merge_size': 2, 'image_token': '[IMG]',
         'image_break_token': '[IMG_BREAK]', 'image_end_token': '[IMG_END]'},
        template_file='chat_template.json'),
    'aya_vision': HubFolder(
        'AyaVision', 'AyaVisionProcessor', AYA_VISION, _cohere, _aya_vision,
        {**_GOT, 'image_processor_type': 'GotOcr2ImageProcessor', 'crop_to_patches': True},
        {'patch_size': 4, 'img_size': 32, 'downsample_factor': 2},
        template_file='chat_template.json', interleaved=False),
    'smolvlm': HubFolder(
        'SmolVLM', 'SmolVLMProcessor', SMOLVLM, _smol, _smolvlm,
        {'image_processor_type': 'SmolVLMImageProcessor', 'size': {'longest_edge': 64},
         'max_image_size': {'longest_edge': 32}, 'do_image_splitting': True},
        {'image_seq_len': 4}, template_file='chat_template.json')}
"""By architecture; ``internvl`` three times, as its language models differ. SmolVLM is not on
the page, but its processor is of a kind of its own."""

_TEMPER = 1.0
"""Size of the output layer's weights: small enough that no probability is nearly 0 or 1."""


def make_hub_folder(folder: Path, name: str, template: str = '', weights: bool = True) -> Path:
    """Write a model folder as the hub has it.

    Args:
        folder: it is made.
        name: one of ``FOLDERS``.
        template: another chat template; '': the one of the table.
        weights: whether the model itself is written, too.
    """
    kind = FOLDERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = kind.tokenizer()
    tokenizer.save_pretrained(folder)
    config = kind.config(tokenizer)
    if weights:
        model = randomise(getattr(hf, f'{kind.model}ForConditionalGeneration')(config))
        model.get_output_embeddings().weight.data *= _TEMPER / 8
        model.generation_config.eos_token_id = tokenizer.eos_token_id
        model.generation_config.pad_token_id = tokenizer.pad_token_id
        model.save_pretrained(folder)
    else:
        config.save_pretrained(folder)
    named = {'processor_class': kind.processor}
    files = {'preprocessor_config': {**kind.pictures, **named}}
    if kind.whole:
        files['processor_config'] = {**kind.whole, **named}
    if kind.videos:
        files['video_preprocessor_config'] = {'video_processor_type': kind.videos, **named}
    for stem, content in files.items():
        (folder / f'{stem}.json').write_text(json.dumps(content))
    text = template or kind.template
    (folder / kind.template_file).write_text(
        json.dumps({'chat_template': text}) if kind.template_file.endswith('.json') else text)
    return folder
