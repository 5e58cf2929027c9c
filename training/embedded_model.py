"""The small vision-language model: tokenizer, processor, architecture, all of stock transformers.

``LlavaForConditionalGeneration`` with a ViT that sees 128 x 96 pixels (the whole 4:3 picture, not
squeezed) and a Llama decoder. The tokenizer is word-level over a few dozen words and drops words
that carry no meaning here ("is", "the", "block", "column", punctuation), which halves the length
of a question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

PAD, UNK, BOS, EOS, IMAGE, ANSWER = '<pad>', '<unk>', '<s>', '</s>', '<image>', '<answer>'
SPECIAL = (PAD, UNK, BOS, EOS, IMAGE, ANSWER)
COLOURS = ('red', 'green', 'blue', 'yellow', 'purple', 'orange')
COLUMNS = tuple(f'c{i}' for i in range(1, 9))
KEYWORDS = ('on', 'top', 'above', 'under', 'topmost', 'clear', 'nothing', 'in', 'left', 'right',
            'which', 'what', 'free', 'not', 'how', 'many', 'highest', 'uncovered')
ANSWERS = ('yes', 'no', 'table', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight')
VOCABULARY = SPECIAL + COLOURS + COLUMNS + KEYWORDS + ANSWERS
FILLERS = (
    'a', 'an', 'answer', 'any', 'anything', 'are', 'as', 'at', 'block', 'blocks', 'colored',
    'coloured', 'column', 'columns', 'contain', 'cube', 'cubes', 'directly', 'does', 'exactly',
    'has', 'have', 'image', 'immediately', 'inside', 'is', 'it', 'its', 'itself', 'label',
    'labeled', 'labelled', 'lie', 'located', 'lying', 'marked', 'named', 'of', 'or', 'picture',
    'pile', 'placed', 'please', 'position', 'positioned', 'question', 'resting', 'see', 'side',
    'sit', 'sitting', 'stack', 'stacked', 'stand', 'standing', 'that', 'the', 'there', 'this',
    'to', 'tower', 'with', 'you')
"""Words without meaning for the questions; the tokenizer's normalizer removes them."""

CHAT_TEMPLATE = (
    BOS + '{% for message in messages %}'
    '{% if message["content"] is string %}{{ message["content"] }}'
    '{% else %}'
    '{% for part in message["content"] %}'
    '{% if part["type"] == "image" %}' + IMAGE + '{% endif %}'
    '{% endfor %}'
    '{% for part in message["content"] %}'
    '{% if part["type"] == "text" %}{{ part["text"] }}{% endif %}'
    '{% endfor %}'
    '{% endif %}'
    '{% if message["role"] == "assistant" %}' + EOS + '{% endif %}'
    '{% endfor %}'
    '{% if add_generation_prompt %}' + ANSWER + '{% endif %}')


@dataclass(frozen=True)
class Shape:
    """Size of the model; the defaults are what is shipped."""

    height: int = 96
    width: int = 128
    patch: int = 8
    hidden: int = 128
    heads: int = 4
    vision_layers: int = 5
    vision_mlp: int = 256
    text_layers: int = 3
    text_mlp: int = 256

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of image patches."""
        return self.height // self.patch, self.width // self.patch

    @property
    def patches(self) -> int:
        """Image tokens of one picture."""
        return self.grid[0] * self.grid[1]


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Word-level, case-insensitive, deaf to punctuation and filler words."""
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(VOCABULARY)},
                                           unk_token=UNK))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Lowercase(),
        normalizers.Replace(Regex('[^a-z0-9]+'), ' '),
        normalizers.Replace(Regex(r'\b(' + '|'.join(FILLERS) + r')\b'), ' ')])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(SPECIAL))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, unk_token=UNK, bos_token=BOS, eos_token=EOS,
        additional_special_tokens=[IMAGE, ANSWER], padding_side='left',
        clean_up_tokenization_spaces=False)


def make_processor(shape: Shape) -> transformers.LlavaProcessor:
    """Picture (PIL, no torchvision) and text to model inputs."""
    image = ViTImageProcessorPil(
        size={'height': shape.height, 'width': shape.width}, resample=2, do_resize=True,
        do_rescale=True, do_normalize=True, image_mean=[0.5] * 3, image_std=[0.5] * 3,
        do_convert_rgb=True)
    return transformers.LlavaProcessor(
        image_processor=image, tokenizer=make_tokenizer(), patch_size=shape.patch,
        vision_feature_select_strategy='default', num_additional_image_tokens=1,
        image_token=IMAGE, chat_template=CHAT_TEMPLATE)


def position_table(shape: Shape) -> torch.Tensor:
    """2-D sine-cosine positions, (patches, hidden): learning to count columns needs them."""
    rows, columns = shape.grid
    y, x = torch.meshgrid(torch.arange(rows).float(), torch.arange(columns).float(),
                          indexing='ij')
    longest = 2 * max(rows, columns)
    frequency = torch.exp(torch.linspace(math.log(math.pi / longest), math.log(math.pi / 1.5),
                                         shape.hidden // 4))
    phase = torch.cat([axis.reshape(-1, 1) * frequency for axis in (y, x)], 1)
    return torch.cat([phase.sin(), phase.cos()], 1) * 0.5


def make_model(shape: Shape) -> transformers.LlavaForConditionalGeneration:
    """The untrained model; torch's global generator decides the weights."""
    vision = transformers.ViTConfig(
        hidden_size=shape.hidden, intermediate_size=shape.vision_mlp,
        num_hidden_layers=shape.vision_layers, num_attention_heads=shape.heads,
        image_size=[shape.height, shape.width], patch_size=shape.patch,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    text = transformers.LlamaConfig(
        hidden_size=shape.hidden, intermediate_size=shape.text_mlp,
        num_hidden_layers=shape.text_layers, num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads, vocab_size=len(VOCABULARY),
        max_position_embeddings=1024, pad_token_id=VOCABULARY.index(PAD),
        bos_token_id=VOCABULARY.index(BOS), eos_token_id=VOCABULARY.index(EOS),
        tie_word_embeddings=True,
        rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=VOCABULARY.index(IMAGE),
        vision_feature_select_strategy='default', vision_feature_layer=-1,
        image_seq_length=shape.patches, tie_word_embeddings=True)
    model = transformers.LlavaForConditionalGeneration(config)
    table = position_table(shape)
    with torch.no_grad():
        model.model.vision_tower.embeddings.position_embeddings.zero_()
        model.model.vision_tower.embeddings.position_embeddings[0, 1:] = table
        model.model.vision_tower.embeddings.cls_token.normal_(0, 0.02)
    return model


def save(model: transformers.LlavaForConditionalGeneration,
         processor: transformers.LlavaProcessor, folder: Path) -> None:
    """Write fp16 weights, configuration, tokenizer, processor and chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    half = transformers.LlavaForConditionalGeneration(model.config)
    half.load_state_dict(model.state_dict())
    half.half().save_pretrained(folder, safe_serialization=True)
    processor.save_pretrained(folder)
