"""What the config of a transformers model says about its blocks and positions. No torch here."""

from __future__ import annotations

from typing import Any

_BERT_SHAPED = {"bert", "roberta", "xlm-roberta", "camembert"}
_AFTER_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl"}


def is_bert_shaped(config: Any) -> bool:  # noqa: ANN401 - a transformers config, or its fields
    """Return whether a model has exactly the blocks that `LeanBert` and `bertgraph` know."""
    return (
        config.model_type in _BERT_SHAPED
        and config.hidden_act == "gelu"
        and not getattr(config, "is_decoder", False)
        and getattr(config, "position_embedding_type", "absolute") in {"absolute", None}
    )


def counts_after_padding(config: Any) -> bool:  # noqa: ANN401 - see above
    """Return whether positions are numbered from the padding id + 1, as RoBERTa does."""
    return config.model_type in _AFTER_PADDING


def positions(config: Any) -> int:  # noqa: ANN401 - see above
    """Return the longest input in tokens."""
    longest = getattr(config, "max_position_embeddings", None) or 512
    if counts_after_padding(config):
        longest -= (config.pad_token_id or 0) + 1
    return int(longest)
