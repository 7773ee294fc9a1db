"""What of an old collection a build that overwrites it may use again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mirror_index import durable
from mirror_index.collection.binding import hash_tree
from mirror_index.collection.segments import segment_faults
from mirror_index.errors import CollectionCorruptError
from mirror_index.store.checks import check_database, check_words
from mirror_index.store.generations import Generation, read_generation, read_meta
from mirror_index.store.layout import DATABASE, VECTORS
from mirror_index.store.reading import (
    DAMAGE,
    connect_read_only,
    says_nothing_of_damage,
    unreadable,
)


def old_state_is_sound(folder: Path) -> bool:
    """Say whether an overwrite may keep the old texts, vectors and encoder.

    Overwriting is the remedy for damage, so nothing damaged may live on in the new state: a
    damaged database is removed. The caller holds the writer lock.

    Raises:
        CollectionError: the collection is of a newer format, or cannot be looked at right now.
    """
    path = folder / DATABASE
    if not path.exists():
        return True
    try:
        with closing(connect_read_only(path)) as connection:
            connection.execute("BEGIN")
            generation = read_generation(connection)
            return generation is None or _is_sound(folder, connection, generation)
    except (CollectionCorruptError, *DAMAGE) as error:
        if says_nothing_of_damage(error):
            raise unreadable(path, error) from error
        # The vectors go as a file, not by cutting it: a reader may still have it mapped.
        durable.remove(folder / VECTORS)
        for suffix in ("-wal", "-shm", ""):
            durable.remove(path.with_name(path.name + suffix))
        return True


def _is_sound(folder: Path, connection: sqlite3.Connection, generation: Generation) -> bool:
    for fault in check_database(connection, generation):
        raise CollectionCorruptError(fault.what, where=fault.table)
    files = hash_tree(folder / generation.encoder_folder)
    return (
        not any(segment_faults(connection, folder, generation))
        and files == read_meta(connection, "encoder_files")
        and check_words(folder / DATABASE) is None
    )
