"""Small vision-language models: tokenizer, processor, architecture, all of stock transformers.

``LlavaForConditionalGeneration`` with a vision tower that sees the whole picture, not squeezed,
and a Llama decoder. The tower is a plain ViT or, where shapes matter, DPT's
hybrid: a residual network with batch normalisation below a ViT, which learns shapes from many
fewer pictures. The tokenizer is word-level over a curriculum's own words and drops words that
carry no meaning there ("is", "the", punctuation), which halves the length of a question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

PAD, UNK, BOS, EOS, IMAGE, ANSWER = '<pad>', '<unk>', '<s>', '</s>', '<image>', '<answer>'
SPECIAL = (PAD, UNK, BOS, EOS, IMAGE, ANSWER)

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
class Words:
    """Vocabulary and spelling rules of a model.

    Attributes:
        words: the vocabulary besides the special tokens, which come first.
        fillers: words without meaning, removed before anything is looked up.
        signs: characters of words, as in a regular expression's brackets; others part words.
        rewrites: (regular expression, replacement), applied in order to lower-case text.
        sums: words whose meaning is that of other words together: ``bowl_1`` is ``bowl`` and
            ``1``. While a model learns, their vectors are the sums of those.
    """

    words: tuple[str, ...]
    fillers: tuple[str, ...]
    signs: str = 'a-z0-9'
    rewrites: tuple[tuple[str, str], ...] = ()
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All tokens, in the order of their ids."""
        return SPECIAL + self.words

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each token."""
        return {word: i for i, word in enumerate(self.vocabulary)}

    @cached_property
    def parts(self) -> torch.Tensor | None:
        """(V, V) 0 and 1: which vectors each token's is the sum of; None where all stand alone."""
        if not self.sums:
            return None
        table = torch.eye(len(self.vocabulary))
        for word, parts in self.sums.items():
            table[self.ids[word]] = 0.0
            for part in parts:
                table[self.ids[word], self.ids[part]] += 1.0
        return table

    def table(self, weight: torch.Tensor) -> torch.Tensor:
        """The word table that a model with these weights uses, sums taken."""
        return weight if self.parts is None else self.parts @ weight


@dataclass(frozen=True)
class Shape:
    """Size of a model; the defaults are blocksworld's.

    Attributes:
        height, width: of the picture [px].
        patch: side of what one image token shows [px].
        hidden, heads: width and attention heads of tower and decoder.
        vision_layers, vision_mlp: of the ViT.
        text_layers, text_mlp: of the decoder.
        stem: channels of the residual network's first layer and of its three stages, of which the
            last has stride 16; empty for none.
        depths: basic blocks of each stage.
        channels: of the picture: red, green, blue and, if there are four, depth.
    """

    height: int = 96
    width: int = 128
    patch: int = 8
    hidden: int = 128
    heads: int = 4
    vision_layers: int = 5
    vision_mlp: int = 256
    text_layers: int = 3
    text_mlp: int = 256
    stem: tuple[int, ...] = ()
    depths: tuple[int, ...] = (1, 1, 2)
    channels: int = 3

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of image patches."""
        return self.height // self.patch, self.width // self.patch

    @property
    def patches(self) -> int:
        """Image tokens of one picture."""
        return self.grid[0] * self.grid[1]


def make_tokenizer(words: Words) -> transformers.PreTrainedTokenizerFast:
    """Word-level, case-insensitive, deaf to punctuation and filler words."""
    tokenizer = Tokenizer(models.WordLevel(words.ids, unk_token=UNK))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Lowercase(),
        *(normalizers.Replace(Regex(old), new) for old, new in words.rewrites),
        normalizers.Replace(Regex(f'[^{words.signs}]+'), ' '),
        normalizers.Replace(Regex(r'\b(' + '|'.join(words.fillers) + r')\b'), ' ')])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(SPECIAL))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, unk_token=UNK, bos_token=BOS, eos_token=EOS,
        additional_special_tokens=[IMAGE, ANSWER], padding_side='left',
        clean_up_tokenization_spaces=False)


def make_processor(shape: Shape, words: Words) -> transformers.LlavaProcessor:
    """Picture (PIL, no torchvision) and text to model inputs."""
    image = ViTImageProcessorPil(
        size={'height': shape.height, 'width': shape.width}, resample=2, do_resize=True,
        do_rescale=True, do_normalize=True, image_mean=[0.5] * 3, image_std=[0.5] * 3,
        do_convert_rgb=True)
    return transformers.LlavaProcessor(
        image_processor=image, tokenizer=make_tokenizer(words), patch_size=shape.patch,
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


def _vision_config(shape: Shape) -> transformers.PretrainedConfig:
    if not shape.stem:
        return transformers.ViTConfig(
            num_channels=shape.channels,
            hidden_size=shape.hidden, intermediate_size=shape.vision_mlp,
            num_hidden_layers=shape.vision_layers, num_attention_heads=shape.heads,
            image_size=[shape.height, shape.width], patch_size=shape.patch,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    if shape.height != shape.width or shape.patch != 16:
        raise ValueError('a residual network makes square pictures to patches of 16 pixels')
    network = transformers.ResNetConfig(
        num_channels=shape.channels,
        embedding_size=shape.stem[0], hidden_sizes=list(shape.stem[1:]),
        depths=list(shape.depths), layer_type='basic',
        out_features=['stage1', 'stage2', 'stage3'])
    return transformers.DPTConfig(
        is_hybrid=True, backbone_config=network, num_channels=shape.channels,
        backbone_featmap_shape=[1, shape.stem[-1], *shape.grid], hidden_size=shape.hidden,
        num_hidden_layers=shape.vision_layers, num_attention_heads=shape.heads,
        intermediate_size=shape.vision_mlp, image_size=shape.height, patch_size=shape.patch)


def make_model(shape: Shape, words: Words) -> transformers.LlavaForConditionalGeneration:
    """The untrained model; torch's global generator decides the weights."""
    text = transformers.LlamaConfig(
        hidden_size=shape.hidden, intermediate_size=shape.text_mlp,
        num_hidden_layers=shape.text_layers, num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads, vocab_size=len(words.vocabulary),
        max_position_embeddings=1024, pad_token_id=words.ids[PAD],
        bos_token_id=words.ids[BOS], eos_token_id=words.ids[EOS],
        tie_word_embeddings=True,
        rope_parameters={'rope_type': 'default', 'rope_theta': 10000.0})
    config = transformers.LlavaConfig(
        vision_config=_vision_config(shape), text_config=text,
        image_token_index=words.ids[IMAGE],
        vision_feature_select_strategy='default', vision_feature_layer=-1,
        image_seq_length=shape.patches, tie_word_embeddings=True)
    model = transformers.LlavaForConditionalGeneration(config)
    embeddings = model.model.vision_tower.embeddings
    with torch.no_grad():
        embeddings.position_embeddings.zero_()
        embeddings.position_embeddings[0, 1:] = position_table(shape)
        embeddings.cls_token.normal_(0, 0.02)
    return model


def save(model: transformers.LlavaForConditionalGeneration,
         processor: transformers.LlavaProcessor, folder: Path) -> None:
    """Write fp16 weights, configuration, tokenizer, processor and chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    half = transformers.LlavaForConditionalGeneration(model.config)
    half.load_state_dict(model.state_dict())
    half.half().save_pretrained(folder, safe_serialization=True)
    processor.save_pretrained(folder)
