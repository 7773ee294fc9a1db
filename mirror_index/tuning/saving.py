"""The folder that `tune` makes: whole or not at all."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mirror_index.errors import UsageError
from mirror_index.tuning.card import Card
from mirror_index.vectors import EncoderLike


def refuse_existing(output: Path) -> None:
    """Refuse an output that holds something.

    Raises:
        UsageError: it is a file, a link or a folder that is not empty.
    """
    if output.is_dir() and not any(output.iterdir()):
        return
    if output.exists() or output.is_symlink():
        raise UsageError(
            "the output exists already", value=str(output), remedy="Name a new folder, or remove it"
        )


def write(
    output: Path,
    encoder: EncoderLike,
    card: Card,
    settings: Mapping[str, Any],
    losses: Sequence[float],
) -> None:
    """Write encoder, card and settings beside `output` and move them there in one step.

    ``card.png`` is drawn where matplotlib is installed.

    Raises:
        UsageError: something has come to lie there meanwhile.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        folder = scratch / output.name  # made by mkdir, so that it gets the usual permissions
        encoder.save(folder)
        _write_json(folder / "card.json", card.to_json())
        _write_json(folder / "tuning.json", {**settings, "losses": finite(losses)})
        (folder / "card.txt").write_text(card.render(), encoding="utf-8")
        if can_plot():
            from mirror_index.tuning.plot import draw  # matplotlib: slow, and optional

            draw(card, losses, folder / "card.png")
        refuse_existing(output)
        if output.is_dir():
            output.rmdir()
        folder.rename(output)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def finite(losses: Sequence[float]) -> list[float | None]:
    """Return losses as JSON can hold them: null for what is not finite."""
    return [loss if math.isfinite(loss) else None for loss in losses]


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def _write_json(path: Path, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(f"{text}\n", encoding="utf-8")
