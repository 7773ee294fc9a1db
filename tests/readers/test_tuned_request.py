"""How a dictionary is read is part of what an encoder was tuned for beside its collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.config import MirrorConfig, Precision, ReadOptions
from mirror_index.errors import UsageError
from mirror_index.pipeline import build_collection
from tests.readers.test_rrf import best
from tests.tiny import write_tiny_encoder

QUICK = MirrorConfig(batch_size=8, precision=Precision.FLOAT32)


def test_languages_and_mappings_belong_to_the_request(tmp_path: Path) -> None:
    encoder = write_tiny_encoder(tmp_path / "tiny")
    release = tmp_path / "release"
    release.mkdir()
    texts = [f"{a}{b} {c}" for a in "abc" for b in "defg" for c in "hijk"]
    rows = (best(f"C{n:03}", text) for n, text in enumerate(texts))
    (release / "MRCONSO.RRF").write_text("".join(rows))
    mappings = tmp_path / "m.sssom.tsv"
    mappings.write_text("subject_label\tpredicate_id\tobject_id\nmore\tskos:exactMatch\tC001\n")
    options = ReadOptions(languages=("ENG", "de"), synonyms=str(mappings))

    def fingerprint() -> str:
        with build_collection(
            release,
            tmp_path / "c",
            encoder=encoder,
            tuned=QUICK,
            read_options=options,
            overwrite=True,
        ) as collection:
            assert collection.info()["records"] == len(texts) + 1
            return str(collection.info()["encoder_fingerprint"])

    assert fingerprint() == fingerprint()
    mappings.write_text(mappings.read_text().replace("more", "other"))
    with pytest.raises(UsageError, match="another source or with other settings"):
        fingerprint()
