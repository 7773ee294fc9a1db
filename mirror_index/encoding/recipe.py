"""How an encoder turns text into vectors: read from and written to its folder. No torch here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mirror_index.config import EncoderConfig, Pooling
from mirror_index.errors import EncoderError

RECIPE_FILE = "mirror.json"
WEIGHTS_FILE = "model.safetensors"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What must stay the same for two vectors to be comparable, beside weights and tokenizer.

    Attributes:
        pooling: masked mean over all tokens, the first token, or the padded mean of old.
        max_length: tokens read per text, special tokens included.
        prompt: put before every text; usually empty.
    """

    pooling: Pooling = Pooling.MEAN
    max_length: int = 512
    prompt: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "pooling": self.pooling.value}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Recipe:
        """Rebuild a recipe from `to_json`."""
        return cls(
            pooling=Pooling(values["pooling"]),
            max_length=int(values["max_length"]),
            prompt=str(values["prompt"]),
        )

    def changed_by(self, config: EncoderConfig) -> Recipe:
        """Return the recipe with what `config` sets explicitly."""
        return replace(
            self,
            pooling=self.pooling if config.pooling is None else config.pooling,
            max_length=self.max_length if config.max_length is None else config.max_length,
            prompt=self.prompt if config.prompt is None else config.prompt,
        )


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in `path`; a missing file is an empty object.

    Raises:
        EncoderError: the file is not a JSON object.
    """
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EncoderError(f"{path.name} is not valid JSON: {error}", where=str(path)) from error
    if not isinstance(value, dict):
        raise EncoderError(f"{path.name} does not hold a JSON object", where=str(path))
    return value


def read_recipe(folder: Path, model_limit: int) -> Recipe:
    """Return the recipe of a model folder.

    A ``mirror.json`` of ours wins; else the pooling, length and default prompt of a
    sentence-transformers folder; else masked mean at the model's own limit.

    Args:
        folder: a local model folder.
        model_limit: the longest input the model can read, in tokens.

    Raises:
        EncoderError: a sentence-transformers folder asks for something that is not supported.
    """
    own = read_json(folder / RECIPE_FILE)
    if own:
        if int(own["format_version"]) > FORMAT_VERSION:
            raise EncoderError(
                f"{RECIPE_FILE} has format {own['format_version']}, newer than this version reads",
                where=str(folder),
                remedy="Upgrade mirror-index",
            )
        return Recipe.from_json(own["recipe"])
    if not (folder / "modules.json").is_file():
        return Recipe(max_length=model_limit)
    return _sentence_transformers_recipe(folder, model_limit)


_PRETRAINING_HEADS = ("ForMaskedLM", "ForPreTraining")


def is_raw(folder: Path) -> bool:
    """Return whether a model folder is as pretraining left it.

    That is, it has the head of pretraining, and nothing in it says how tokens become one vector.

    Raises:
        EncoderError: its config.json is not a JSON object.
    """
    if (folder / RECIPE_FILE).is_file() or (folder / "modules.json").is_file():
        return False
    heads = read_json(folder / "config.json").get("architectures") or []
    return any(str(head).endswith(_PRETRAINING_HEADS) for head in heads)


_SUPPORTED_MODULES = {"Transformer", "Pooling", "Normalize"}
_POOLING_FLAGS = {
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_cls_token": Pooling.CLS,
}


def _sentence_transformers_recipe(folder: Path, model_limit: int) -> Recipe:
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    kinds = {str(module["type"]).rsplit(".", 1)[-1]: str(module["path"]) for module in modules}
    unknown = sorted(set(kinds) - _SUPPORTED_MODULES)
    if unknown:
        raise EncoderError(
            "this sentence-transformers model has modules beyond transformer, pooling, normalise",
            value=", ".join(unknown),
            where=str(folder),
            remedy="Use a model without them, or encode elsewhere and import the vectors",
        )
    pooling = _read_pooling(folder / kinds.get("Pooling", "1_Pooling") / "config.json")
    limit = read_json(folder / "sentence_bert_config.json").get("max_seq_length") or model_limit
    settings = read_json(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts") or {}
    prompt = prompts.get(settings.get("default_prompt_name") or "", "")
    return Recipe(pooling=pooling, max_length=min(int(limit), model_limit), prompt=prompt)


def _read_pooling(path: Path) -> Pooling:
    """Return the one pooling mode that a sentence-transformers pooling config switches on."""
    settings = read_json(path)
    mode = settings.get("pooling_mode")
    chosen = [mode] if isinstance(mode, str) else list(mode or [])
    chosen += [flag for flag, on in settings.items() if flag.startswith("pooling_mode_") and on]
    names = {"mean": Pooling.MEAN, "cls": Pooling.CLS, **_POOLING_FLAGS}
    modes = {names.get(choice) for choice in chosen} or {Pooling.MEAN}
    if len(modes) != 1 or None in modes:
        raise EncoderError(
            "only mean and cls pooling are supported",
            value=", ".join(map(str, chosen)),
            where=str(path),
            remedy="Pass --pooling mean or --pooling cls with a plain transformers folder",
        )
    return modes.pop() or Pooling.MEAN


def refuse_padded_mean(recipe: Recipe) -> None:
    """Refuse to save what only runs checkpoints that are there already.

    Raises:
        EncoderError: the pooling is a padded mean.
    """
    if recipe.pooling is Pooling.PADDED_MEAN:
        raise EncoderError(
            "an encoder with a padded mean is not saved: no other library could run it",
            value=recipe.pooling.value,
            remedy="Use --pooling mean, or give --pooling padded-mean each time it is loaded",
        )


def write_recipe(folder: Path, recipe: Recipe, fingerprint: str, dim: int) -> None:
    """Write ``mirror.json`` and the files by which sentence-transformers finds the same recipe."""
    document = {
        "format_version": FORMAT_VERSION,
        "fingerprint": fingerprint,
        "dim": dim,
        "recipe": recipe.to_json(),
    }
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "2_Normalize").mkdir(exist_ok=True)
    for name, value in {RECIPE_FILE: document, **_sentence_transformers_files(recipe, dim)}.items():
        text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
        (folder / name).write_text(text, encoding="utf-8")


def _sentence_transformers_files(recipe: Recipe, dim: int) -> dict[str, Any]:
    """Return the JSON of each file that sentence-transformers reads, by its place."""
    pooling = {
        "word_embedding_dimension": dim,
        "pooling_mode_cls_token": recipe.pooling is Pooling.CLS,
        "pooling_mode_mean_tokens": recipe.pooling is Pooling.MEAN,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": path,
            "type": f"sentence_transformers.models.{kind}",
        }
        for index, (path, kind) in enumerate(
            [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
        )
    ]
    settings: dict[str, Any] = {"prompts": {}, "default_prompt_name": None}
    if recipe.prompt:
        settings = {"prompts": {"default": recipe.prompt}, "default_prompt_name": "default"}
    return {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "2_Normalize/config.json": {},
        "sentence_bert_config.json": {"max_seq_length": recipe.max_length, "do_lower_case": False},
        "config_sentence_transformers.json": settings,
    }
