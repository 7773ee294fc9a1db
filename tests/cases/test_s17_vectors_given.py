"""S17: query vectors with NaN, Inf, a zero row, other types, memory order or dimension."""

from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.errors import MirrorIndexError
from tests.collection.oracle import names
from tests.fakes import HashEncoder


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection.build(tmp_path / "c", names(40), encoder=HashEncoder(32))


def test_s17_bad_rows_are_named(collection: Collection) -> None:
    rows = np.ones((5, 32))
    rows[1, 3], rows[2, 0], rows[4] = np.nan, np.inf, 0.0
    with pytest.raises(MirrorIndexError, match=r"3 rows .* rows 1, 2, 4"):
        collection.search_vectors(rows)


def test_s17_a_wrong_dimension(collection: Collection) -> None:
    with pytest.raises(MirrorIndexError, match="31 columns, expected 32"):
        collection.search_vectors(np.ones((1, 31)))


@pytest.mark.parametrize("kind", ["float16", "float64", "int32"])
def test_s17_other_types_are_converted(collection: Collection, kind: str) -> None:
    rows = np.asfortranarray(np.arange(64).reshape(2, 32) % 7 - 3).astype(kind)
    plain = np.ascontiguousarray(rows, dtype=np.float32)
    assert collection.search_vectors(rows) == collection.search_vectors(plain)
