"""S14: an encoder of another dimension, of other weights, or that claims to be the right one."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.errors import EncoderMismatchError
from tests.collection.oracle import names
from tests.fakes import HashEncoder


class Impostor(HashEncoder):
    """The fingerprint of the right encoder over other weights."""

    @property
    def fingerprint(self) -> str:
        return HashEncoder(self.dim).fingerprint


@pytest.mark.parametrize("wrong", [HashEncoder(32), HashEncoder(64, salt="other")])
def test_s14_wrong_encoder(tmp_path: Path, wrong: HashEncoder) -> None:
    right = HashEncoder(64)
    Collection.build(tmp_path / "c", names(5), encoder=right).close()
    with pytest.raises(EncoderMismatchError) as raised:
        Collection.open(tmp_path / "c", encoder=wrong)
    assert right.fingerprint in str(raised.value)
    assert wrong.fingerprint in str(raised.value)
    with Collection.open(tmp_path / "c", encoder=right) as collection:
        report = collection.verify(encoder=wrong)
        assert [problem.kind for problem in report.problems] == ["encoder"]


def test_s14_the_right_fingerprint_over_other_weights(tmp_path: Path) -> None:
    Collection.build(tmp_path / "c", names(5), encoder=HashEncoder(64)).close()
    impostor = Impostor(64, salt="other")
    with Collection.open(tmp_path / "c", encoder=impostor) as collection:
        with pytest.raises(EncoderMismatchError, match="gives other vectors"):
            collection.search(["anything"])
        with pytest.raises(EncoderMismatchError, match="gives other vectors"):
            collection.add(names(5, start=5))
        assert not collection.verify(encoder=impostor).ok
