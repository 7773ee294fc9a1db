"""Tiny random encoders of many shapes, made offline from configs, with a character tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789 -,.()'"
SHAPES = (
    "bert",
    "roberta",
    "albert",
    "distilbert",
    "mpnet",
    "xlm-roberta",
    "modernbert",
    "electra",
    "deberta-v2",
)
_COMMON = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 80,
    "pad_token_id": 0,
    "initializer_range": 0.2,
}
_SPECIAL_CONFIGS: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    "albert": {"embedding_size": 16},
    "electra": {"embedding_size": 16},
    "modernbert": {
        "global_attn_every_n_layers": 2,
        "local_attention": 16,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "cls_token_id": 2,
        "sep_token_id": 3,
        "reference_compile": False,
    },
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8,
    },
}


def write_tiny_encoder(folder: Path, shape: str = "bert", *, seed: int = 0) -> Path:
    """Write a transformers folder of the given model type; the same seed gives the same weights."""
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(seed)
    config = AutoConfig.for_model(shape, **{**_COMMON, **_SPECIAL_CONFIGS.get(shape, {})})
    folder.mkdir(parents=True, exist_ok=True)
    AutoModel.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def write_tiny_mlm(folder: Path, shape: str = "bert", *, seed: int = 0, **changes: object) -> Path:
    """Write a masked language model, head and all, of the given model type."""
    from transformers import AutoConfig, AutoModelForMaskedLM

    torch.manual_seed(seed)
    settings = {**_COMMON, **_SPECIAL_CONFIGS.get(shape, {}), **changes}
    folder.mkdir(parents=True, exist_ok=True)
    config = AutoConfig.for_model(shape, **settings)
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def tiny_tokenizer() -> Any:
    """Return a lower-casing tokenizer with one token a character and two for a few bigrams."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = SPECIALS + list(CHARACTERS) + [f"##{c}" for c in CHARACTERS if c != " "]
    backend = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
