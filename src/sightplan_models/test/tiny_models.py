"""Small random models of real architectures, for tests: no downloads, no torchvision.

``ARCHITECTURES`` builds models that take token ids and pixel tensors; ``make_tiny_vlm`` saves a
whole model folder (weights, tokenizer, image processor, chat template) that the Auto classes load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from torch import Tensor

from sightplan.model.query import ask_plainly

VOCABULARY = 320
IMAGE = 300
_TEXT: dict[str, Any] = {
    'hidden_size': 64, 'intermediate_size': 128, 'num_hidden_layers': 4, 'num_attention_heads': 4,
    'num_key_value_heads': 2, 'vocab_size': VOCABULARY, 'max_position_embeddings': 2048,
    'pad_token_id': 0, 'bos_token_id': 1, 'eos_token_id': 2}
_VISION: dict[str, Any] = {'hidden_size': 32, 'intermediate_size': 64, 'num_hidden_layers': 2,
                           'num_attention_heads': 2}
_HYBRID = ['sliding_attention', 'full_attention'] * 2


@dataclass
class Tiny:
    """A random model and the inputs of a prompt with an image.

    Attributes:
        model: float32, in evaluation mode.
        ids: token ids of the prompt.
        pixels: what the processor would return besides ids and masks.
        types: name of the token-type input, '' for none.
        image: id of the image tokens.
    """

    model: Any
    ids: list[int]
    pixels: dict[str, Tensor]
    types: str = ''
    image: int = IMAGE
    inputs: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        randomise(self.model)
        ids = torch.tensor([self.ids])
        self.inputs = {'input_ids': ids, 'attention_mask': torch.ones_like(ids), **self.pixels}
        if self.types:
            self.inputs[self.types] = (ids == self.image).long()


def randomise(model: Any, seed: int = 0) -> Any:
    """Weights large enough that answers depend on every token; embeddings larger still."""
    generator = torch.Generator().manual_seed(seed)

    def normal(shape: Any) -> Tensor:
        return torch.randn(shape, generator=generator)

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() >= 2:
                fan = 1.7 if 'embed' in name else weight[0].numel()
                weight.copy_(normal(weight.shape) * 1.3 / fan ** 0.5)
            elif 'bias' in name:
                weight.copy_(normal(weight.shape) * 0.1)
            elif 'norm' in name:
                weight.add_(normal(weight.shape) * 0.1)
    return model.eval().float()


def words(count: int, seed: int) -> list[int]:
    """Random ids of ordinary tokens."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, 280, (count,), generator=generator).tolist()


def _noise(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def _siglip(**more: Any) -> Any:
    return hf.SiglipVisionConfig(**_VISION, image_size=32, vision_use_head=False,
                                 **{'patch_size': 4, **more})


def _rope(*sections: int, **more: Any) -> dict[str, Any]:
    return {'rope_type': 'default', 'rope_theta': 1e4, 'mrope_section': list(sections), **more}


def _grid_model(name: str, vision: dict[str, Any], text: dict[str, Any],
                **more: Any) -> Tiny:
    """Models of the Qwen-VL kind: patches in rows, image sizes as grids."""
    grid = (1, 8, 12)
    vision = {'depth': 2, 'hidden_size': 32, 'intermediate_size': 64, 'num_heads': 2,
              'patch_size': 4, 'spatial_merge_size': 2, 'temporal_patch_size': 2,
              'out_hidden_size': 64, **vision}
    more = more or {'vision_start_token_id': 302, 'vision_end_token_id': 303}
    config = getattr(hf, f'{name}Config')(
        vision_config=vision, text_config={**_TEXT, **text}, image_token_id=IMAGE,
        video_token_id=301, **more)
    patches = grid[1] * grid[2]
    return Tiny(getattr(hf, f'{name}ForConditionalGeneration')(config),
                [*words(9, 1), 302, *[IMAGE] * (patches // 4), 303, *words(5, 2)],
                {'pixel_values': _noise(patches, 3 * 2 * 16),
                 'image_grid_thw': torch.tensor([grid])}, 'mm_token_type_ids')


def qwen2_5_vl() -> Tiny:
    return _grid_model('Qwen2_5_VL', {'window_size': 16, 'fullatt_block_indexes': [1]},
                       {'rope_parameters': _rope(2, 3, 3)})


def qwen3_vl() -> Tiny:
    return _grid_model(
        'Qwen3VL', {'depth': 3, 'num_position_embeddings': 64, 'deepstack_visual_indexes': [0, 1]},
        {'head_dim': 16, 'rope_parameters': _rope(4, 2, 2, mrope_interleaved=True)})


def qwen3_5() -> Tiny:
    return _grid_model(
        'Qwen3_5', {'num_position_embeddings': 64},
        {'head_dim': 32, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,
         'linear_num_key_heads': 2, 'linear_num_value_heads': 4,
         'layer_types': ['linear_attention'] * 3 + ['full_attention'],
         'rope_parameters': _rope(2, 1, 1, mrope_interleaved=True, partial_rotary_factor=.25)})


def glm4v() -> Tiny:
    return _grid_model(
        'Glm4v', {'image_size': 32},
        {'rope_parameters': _rope(2, 3, 3, partial_rotary_factor=1.0)},
        image_start_token_id=302, image_end_token_id=303, video_start_token_id=304,
        video_end_token_id=305)


def internvl() -> Tiny:
    config = hf.InternVLConfig(
        vision_config={**_VISION, 'image_size': [32, 32], 'patch_size': [4, 4]},
        text_config=hf.Qwen2Config(**_TEXT), image_token_id=IMAGE, image_seq_length=16)
    return Tiny(hf.InternVLForConditionalGeneration(config),
                [*words(9, 1), *[IMAGE] * 48, *words(5, 2)],
                {'pixel_values': _noise(3, 3, 32, 32)})


def gemma3(window: int = 24) -> Tiny:
    config = hf.Gemma3Config(
        text_config=hf.Gemma3TextConfig(**{
            **_TEXT, 'head_dim': 16, 'query_pre_attn_scalar': 16, 'sliding_window': window,
            'layer_types': _HYBRID}),
        vision_config=_siglip(), mm_tokens_per_image=16, image_token_index=IMAGE,
        boi_token_index=302, eoi_token_index=303)
    return Tiny(hf.Gemma3ForConditionalGeneration(config),
                [*words(9, 1), 302, *[IMAGE] * 16, 303, *words(5, 2)],
                {'pixel_values': _noise(1, 3, 32, 32)}, 'token_type_ids')


def llava(**text: Any) -> Tiny:
    config = hf.LlavaConfig(
        vision_config=_siglip(), text_config=hf.LlamaConfig(**{**_TEXT, **text}),
        image_token_index=IMAGE, vision_feature_select_strategy='full', vision_feature_layer=-1)
    return Tiny(hf.LlavaForConditionalGeneration(config),
                [*words(9, 1), *[IMAGE] * 64, *words(5, 2)],
                {'pixel_values': _noise(1, 3, 32, 32)})


def llava_onevision() -> Tiny:
    config = hf.LlavaOnevisionConfig(
        vision_config=_siglip(patch_size=8), text_config=hf.Qwen2Config(**_TEXT),
        image_token_index=IMAGE, video_token_index=301,
        image_grid_pinpoints=[[32, 32], [32, 64], [64, 32], [64, 64]])
    model = hf.LlavaOnevisionForConditionalGeneration(config).eval()
    pixels = {'pixel_values': _noise(1, 5, 3, 32, 32), 'image_sizes': torch.tensor([[60, 64]])}
    with torch.no_grad():  # how many tokens an image takes depends on its size
        found = model.model.get_image_features(**pixels, return_dict=True).pooler_output
    count = found[0].shape[0] if isinstance(found, list | tuple) else found.shape[0]
    return Tiny(model, [*words(9, 1), *[IMAGE] * count, *words(5, 2)], pixels)


def smolvlm(name: str = 'SmolVLM') -> Tiny:
    config = getattr(hf, f'{name}Config')(
        vision_config={**_VISION, 'image_size': 32, 'patch_size': 4},
        text_config=hf.LlamaConfig(**_TEXT), image_token_id=IMAGE, scale_factor=4)
    return Tiny(getattr(hf, f'{name}ForConditionalGeneration')(config),
                [*words(9, 1), 302, *[IMAGE] * 8, 303, *words(5, 2)],
                {'pixel_values': _noise(1, 2, 3, 32, 32)})


def idefics3() -> Tiny:
    return smolvlm('Idefics3')


def mistral3(window: int | None = None) -> Tiny:
    config = hf.Mistral3Config(
        vision_config=hf.PixtralVisionConfig(**_VISION, image_size=64, patch_size=4),
        text_config=hf.MistralConfig(**_TEXT, head_dim=16, sliding_window=window),
        image_token_index=IMAGE, spatial_merge_size=2)
    return Tiny(hf.Mistral3ForConditionalGeneration(config),
                [*words(9, 1), *([IMAGE] * 6 + [302]) * 4, *words(5, 2)],
                {'pixel_values': _noise(1, 3, 32, 48), 'image_sizes': torch.tensor([[32, 48]])})


def molmo2() -> Tiny:
    head = {'num_attention_heads': 2, 'num_key_value_heads': 2, 'head_dim': 16}
    config = hf.Molmo2Config(
        vision_config={'hidden_size': 32, 'intermediate_size': 64, 'num_hidden_layers': 3, **head,
                       'image_size': [32, 32], 'patch_size': 4},
        adapter_config={'vision_feature_layer': [-1, -2], 'hidden_size': 32, **head,
                        'intermediate_size': 64, 'text_hidden_size': 64},
        text_config={'hidden_size': 64, 'intermediate_size': 128, 'num_hidden_layers': 4,
                     'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 16,
                     'vocab_size': VOCABULARY - 20, 'additional_vocab_size': 20,
                     'max_position_embeddings': 2048},
        image_patch_id=310, image_start_token_id=302, image_end_token_id=303,
        low_res_image_start_token_id=304, frame_start_token_id=305, frame_end_token_id=306)
    pooling = torch.arange(64).view(4, 2, 4, 2).permute(0, 2, 1, 3).reshape(16, 4)
    return Tiny(hf.Molmo2ForConditionalGeneration(config),
                [*words(9, 1), 304, *[310] * 16, 303, *words(5, 2)],
                {'pixel_values': _noise(1, 64, 48), 'image_token_pooling': pooling,
                 'image_grids': torch.tensor([[4, 4, 0, 0]]),
                 'image_num_crops': torch.tensor([1])},
                'mm_token_type_ids', 310)


def aya_vision() -> Tiny:
    config = hf.AyaVisionConfig(
        vision_config=_siglip(), text_config=hf.Cohere2Config(
            **_TEXT, sliding_window=24, layer_types=_HYBRID, logit_scale=.25),
        image_token_index=IMAGE, downsample_factor=2, adapter_layer_norm_eps=1e-6)
    return Tiny(hf.AyaVisionForConditionalGeneration(config),
                [*words(9, 1), *[IMAGE] * 32, *words(5, 2)],
                {'pixel_values': _noise(2, 3, 32, 32)})


def ovis2() -> Tiny:
    config = hf.Ovis2Config(
        vision_config={**_VISION, 'image_size': 32, 'patch_size': 4, 'vocab_size': 64,
                       'hidden_stride': 2, 'num_visual_indicator_tokens': 5},
        text_config=hf.Qwen2Config(**_TEXT), image_token_id=IMAGE, vocab_size=VOCABULARY,
        visual_indicator_token_ids=[311, 312, 313, 314, 315], hidden_size=64)
    return Tiny(hf.Ovis2ForConditionalGeneration(config),
                [*words(9, 1), 311, *[IMAGE] * 16, 312, *words(5, 2)],
                {'pixel_values': _noise(1, 3, 32, 32)})


def lfm2_vl() -> Tiny:
    config = hf.Lfm2VlConfig(
        vision_config=hf.Siglip2VisionConfig(**_VISION, patch_size=4, num_patches=64),
        text_config=hf.Lfm2Config(**_TEXT, layer_types=['conv', 'full_attention'] * 2,
                                  block_auto_adjust_ff_dim=False),
        image_token_id=IMAGE, projector_hidden_size=64)
    return Tiny(hf.Lfm2VlForConditionalGeneration(config),
                [*words(9, 1), *[IMAGE] * 16, *words(5, 2)],
                {'pixel_values': _noise(1, 64, 48), 'spatial_shapes': torch.tensor([[8, 8]]),
                 'pixel_attention_mask': torch.ones(1, 64, dtype=torch.long)})


def paligemma() -> Tiny:
    config = hf.PaliGemmaConfig(
        vision_config=_siglip(patch_size=8), text_config=hf.GemmaConfig(**_TEXT, head_dim=16),
        image_token_index=IMAGE, projection_dim=64, vocab_size=VOCABULARY)
    # image -1: all tokens of a prompt are of type 0, they attend to each other both ways
    return Tiny(hf.PaliGemmaForConditionalGeneration(config), [*[IMAGE] * 16, *words(9, 1)],
                {'pixel_values': _noise(1, 3, 32, 32)}, 'token_type_ids', -1)


ATTENTION_ONLY: dict[str, Callable[[], Tiny]] = {f.__name__: f for f in (
    qwen2_5_vl, qwen3_vl, glm4v, internvl, gemma3, llava, llava_onevision, smolvlm, idefics3,
    mistral3, molmo2, aya_vision, ovis2)}
HYBRIDS: dict[str, Callable[[], Tiny]] = {f.__name__: f for f in (qwen3_5, lfm2_vl)}
ARCHITECTURES = {**ATTENTION_ONLY, **HYBRIDS}

_CHAT = (
    "{%- for m in messages -%}<|im_start|>{{ m['role'] }}\n{% if m['content'] is string %}"
    "{{ m['content'] }}{% else %}{% for c in m['content'] %}{% if c['type'] == 'image' %}IMAGE"
    "{% elif c['type'] == 'text' %}{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    '{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}')
_SAYINGS = ('Is the red block on top of the blue block? Yes No yes no YES NO',
            'Question: Is the yellow block in the column labeled "c3"? Answer with one word.',
            '<explanation>It stands there.</explanation>\n<answer>yes</answer>')


def _tokenizer(special: list[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ['<pad>', '<unk>', '<s>', '</s>', '<|im_start|>', '<|im_end|>', *special]
    tokenizer.train_from_iterator([*_SAYINGS] * 50, trainers.BpeTrainer(
        vocab_size=500, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token='<pad>', unk_token='<unk>', bos_token='<s>',
        eos_token='<|im_end|>', padding_side='left', additional_special_tokens=special[4:])


def small_text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """Settings of a small language model for a tokenizer."""
    return {**_TEXT, 'num_hidden_layers': 2, 'vocab_size': len(tokenizer),
            'pad_token_id': tokenizer.pad_token_id, 'bos_token_id': tokenizer.bos_token_id,
            'eos_token_id': tokenizer.eos_token_id, **more}


def _llava_parts(channels: int) -> tuple[Any, Any]:
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
    tokenizer = _tokenizer(['<image>'])
    processor = hf.LlavaProcessor(
        image_processor=SiglipImageProcessorPil(size={'height': 32, 'width': 32}),
        tokenizer=tokenizer, patch_size=4, vision_feature_select_strategy='full',
        image_token='<image>', num_additional_image_tokens=0,
        chat_template=_CHAT.replace('IMAGE', '<image>\n'))
    model = hf.LlavaForConditionalGeneration(hf.LlavaConfig(
        vision_config=_siglip(num_channels=channels),
        text_config=hf.LlamaConfig(**small_text(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids('<image>'),
        vision_feature_select_strategy='full', vision_feature_layer=-1))
    return processor, model


def make_tiny_vlm(folder: Path, channels: int = 3, seed: int = 0) -> Path:
    """Save a random model with tokenizer, image processor and chat template to a folder.

    Its answers are rubbish, always the same. ``backend: transformers`` loads it by
    ``{'model': str(folder), 'device': 'cpu'}``. With four ``channels`` it sees depth as the
    fourth, which only the backend ``embedded`` gives it.
    """
    processor, model = _llava_parts(channels)
    randomise(model, seed)
    model.generation_config.eos_token_id = processor.tokenizer.eos_token_id
    model.generation_config.pad_token_id = processor.tokenizer.pad_token_id
    processor.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def one_by_one(model, queries):
    """Answers of a local model, each question with its own copy of the image: the reference."""
    return ask_plainly(model, queries)
