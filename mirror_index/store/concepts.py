"""Reading concepts and the exact-name layer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from mirror_index.errors import CollectionCorruptError
from mirror_index.records import Concept, Name, Scope
from mirror_index.store.layout import DATABASE, chunked

_NAME_COLUMNS = (
    "records.id, names.text, names.concept_id, names.scope, names.name_type, names.obsolete, "
    "records.text_row FROM names LEFT JOIN records ON records.key = names.record_key"
)
_CONCEPT_COLUMNS = (
    "id, label, definition, obsolete, replaced_by, consider, alt_ids, parents, semantic_types, "
    "xrefs, "
    "source_line"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredName:
    """One name of a concept as the exact layer holds it.

    Attributes:
        record_id: the record that carries the name; None for a name of an obsolete concept.
        text: as the source spells it.
        concept_id: the concept it names.
        scope: how it relates to the concept; names given without a scope count as exact.
        name_type: the source's own word for the kind of name.
        obsolete: whether the concept is obsolete.
        row: row of its vector; None for a name of an obsolete concept.
    """

    record_id: str | None
    text: str
    concept_id: str
    scope: Scope
    name_type: str | None
    obsolete: bool
    row: int | None


def stored_scope(value: str) -> Scope:
    """Return the scope behind a stored value.

    Raises:
        CollectionCorruptError: there is no such scope.
    """
    try:
        return Scope(value)
    except ValueError as error:
        raise CollectionCorruptError(
            "a stored scope is damaged",
            value=value,
            where=DATABASE,
            remedy="Run `mirror-index verify`, and restore the database from a copy",
        ) from error


def _stored_name(row: tuple[Any, ...]) -> StoredName:
    return StoredName(
        record_id=row[0],
        text=row[1],
        concept_id=row[2],
        scope=stored_scope(row[3]),
        name_type=row[4],
        obsolete=bool(row[5]),
        row=row[6],
    )


def names_by_key(
    connection: sqlite3.Connection, keys: Iterable[str]
) -> dict[str, list[StoredName]]:
    """Return the names behind each key: live first, best scope first, then by id."""
    found: dict[str, list[StoredName]] = {}
    for part in chunked(list(dict.fromkeys(keys))):
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            f"SELECT names.key, {_NAME_COLUMNS} WHERE names.key IN ({marks})", part
        )
        for key, *rest in rows:
            found.setdefault(key, []).append(_stored_name(tuple(rest)))
    for names in found.values():
        names.sort(
            key=lambda n: (n.obsolete, n.scope.rank, n.concept_id, n.record_id or "", n.text)
        )
    return found


def iterate_names(connection: sqlite3.Connection) -> Iterator[StoredName]:
    """Yield the names of live concepts in record-id order."""
    rows = connection.execute(
        "SELECT records.id, names.text, names.concept_id, names.scope, names.name_type, "
        "names.obsolete, "
        "records.text_row FROM records JOIN names ON names.record_key = records.key ORDER BY "
        "records.id"
    )
    for row in rows:
        yield _stored_name(row)


def obsolete_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names, labels too, of obsolete concepts, in the order of their concepts."""
    found = "SELECT text FROM names WHERE obsolete = 1 ORDER BY concept_id, rowid"
    return [text for (text,) in connection.execute(found)]


def iterate_concepts(connection: sqlite3.Connection) -> Iterator[Concept]:
    """Yield all concepts by id, obsolete ones too, with their names (the label apart)."""
    named = connection.execute(
        "SELECT concept_id, text, scope, name_type FROM names ORDER BY concept_id, rowid"
    )
    groups = groupby(named, key=itemgetter(0))
    group = next(groups, None)
    for row in connection.execute(f"SELECT {_CONCEPT_COLUMNS} FROM concepts ORDER BY id"):
        while group is not None and group[0] < row[0]:
            group = next(groups, None)
        names = list(group[1]) if group is not None and group[0] == row[0] else []
        concept = _concept(row)
        yield replace(
            concept,
            names=tuple(
                Name(text=text, scope=stored_scope(scope), name_type=name_type)
                for _, text, scope, name_type in names
                if text != concept.label
            ),
        )


class KeyedName(NamedTuple):
    """A name of a live concept with its key, as few values as ranking needs."""

    concept_id: str
    text: str
    key: str
    scope: str
    row: int


def keyed_names(connection: sqlite3.Connection) -> list[KeyedName]:
    """Return all names of live concepts, those of one concept together, the best scope first."""
    ranks = " ".join(f"WHEN '{scope.value}' THEN {scope.rank}" for scope in Scope)
    rows = connection.execute(
        "SELECT names.concept_id, names.text, names.key, names.scope, records.text_row "
        "FROM names JOIN records ON records.key = names.record_key "
        f"ORDER BY names.concept_id, CASE names.scope {ranks} END, names.text"
    )
    return [KeyedName(*row) for row in rows]


def concepts_by_id(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Concept]:
    """Return concepts by id or alternative id, under the id asked for.

    Unknown ids are left out.

    An alternative id that several concepts claim stands for a live one before an obsolete one, then
    for the first by id.
    """
    wanted = list(dict.fromkeys(ids))
    found = _load(connection, wanted)
    missing = [one for one in wanted if one not in found]
    targets: dict[str, str] = {}
    for part in chunked(missing):
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            "SELECT alt_id, concept_id FROM concept_ids JOIN concepts ON concepts.id = concept_id "
            f"WHERE alt_id IN ({marks}) ORDER BY obsolete DESC, concept_id DESC",
            part,
        )
        targets.update(rows.fetchall())
    behind = _load(connection, list(set(targets.values())))
    return {
        one: found[one] if one in found else behind[targets[one]]
        for one in wanted
        if one in found or one in targets
    }


def id_prefixes(connection: sqlite3.Connection) -> set[str]:
    """Return what stands before the first colon of the ids and alternative ids of concepts."""
    ids = connection.execute("SELECT id FROM concepts UNION ALL SELECT alt_id FROM concept_ids")
    return {identifier.partition(":")[0] for (identifier,) in ids if ":" in identifier}


def _load(connection: sqlite3.Connection, ids: list[str]) -> dict[str, Concept]:
    found: dict[str, Concept] = {}
    for part in chunked(ids):
        marks = ",".join("?" * len(part))
        rows = connection.execute(
            f"SELECT {_CONCEPT_COLUMNS} FROM concepts WHERE id IN ({marks})", part
        )
        for row in rows:
            found[row[0]] = _concept(row)
    return found


def _concept(row: tuple[Any, ...]) -> Concept:
    lists = [() if value == "[]" else tuple(json.loads(value)) for value in row[4:10]]
    return Concept(
        id=row[0],
        label=row[1],
        definition=row[2],
        obsolete=bool(row[3]),
        replaced_by=lists[0],
        consider=lists[1],
        alt_ids=lists[2],
        parents=lists[3],
        semantic_types=lists[4],
        xrefs=lists[5],
        line=row[10],
    )
