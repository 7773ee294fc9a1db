"""Candidates made as they are asked for, against all of them sorted."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.linking.candidates import Pool
from mirror_index.linking.features import FEATURES
from mirror_index.linking.lexicon import SCOPES
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.model import DEFAULT_MODEL
from mirror_index.linking.proposals import Proposals
from tests.dictionaries import Build


@pytest.mark.parametrize("tied", [False, True])
def test_order(build: Build, tied: bool) -> None:
    lexicon = lexicon_of(build())
    rng = np.random.default_rng(2)
    concepts = rng.permutation(len(lexicon.concept_ids))
    names = lexicon.first[concepts + 1] - 1
    table = rng.uniform(size=(len(concepts), len(FEATURES)))
    if tied:
        table[1:] = table[1]
    pool = Pool(
        concepts=concepts,
        names=names,
        cosines=table[:, 0],
        gains=np.zeros(len(concepts)),
        table=table,
        spelt=names,
        dense=3,
        path="exact",
    )
    found = Proposals(lexicon, pool, DEFAULT_MODEL)
    probabilities = DEFAULT_MODEL.probabilities(table, np.zeros(len(concepts)))
    expected = sorted(
        (-probability, int(lexicon.scopes[name]), lexicon.concept_ids[one], lexicon.texts[name])
        for probability, name, one in zip(probabilities, names, concepts, strict=True)
    )
    assert len(found) == len(expected)
    assert found[:2] == [found[0], found[1]]
    for one, (probability, scope, identifier, text) in zip(found, expected, strict=True):
        assert one.concept_id == identifier
        assert one.matched_name == text
        assert one.scope is SCOPES[scope]
        assert one.probability == pytest.approx(-probability)
        assert (
            one.cosine
            == table[np.flatnonzero(concepts == lexicon.concept_ids.index(identifier))[0], 0]
        )
