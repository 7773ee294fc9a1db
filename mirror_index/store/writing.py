"""The writing side of the database: connection, transactions, progress of unfinished work.

Progress (`pending`) is committed as it is made, apart from the change itself: the rows it describes
lie past the committed end of the vector file, so no reader sees them, and the next writer finds
them by text hash.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mirror_index import durable
from mirror_index.durable import Chunk
from mirror_index.errors import CollectionError
from mirror_index.store.generations import Generation, read_generation, read_meta
from mirror_index.store.layout import DATABASE, DOCUMENTS, STATE, Json, checksum, chunked
from mirror_index.store.schema import migrate


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """A distinct text with the audit of its tokens, ready to be stored.

    Attributes:
        row: row of its vector.
        text: the normalised text.
        hash: `text_hash` of it.
        tokens: token count before truncation.
        truncated: whether the encoder read only a part.
        has_unknown: whether a token is unknown to the tokenizer.
        vector_key: key under which near-equal vectors meet.
    """

    row: int
    text: str
    hash: bytes
    tokens: int
    truncated: bool
    has_unknown: bool
    vector_key: int

    def values(self) -> tuple[Any, ...]:
        """Return the columns of `pending`, the checksum last."""
        audit = (int(self.tokens), int(self.truncated), int(self.has_unknown), int(self.vector_key))
        return (self.row, self.text, self.hash, *audit, text_checksum(self.hash, *audit))


def text_checksum(hash_: bytes, *audit: int) -> int:
    """Return the checksum of a stored text; its row is left out, for compaction moves it."""
    return checksum((hash_, *audit))


class WriteStore:
    """One writer's connection; the caller holds the writer lock.

    Attributes:
        connection: in autocommit mode; every write happens inside `transaction`.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        durable.reached("open", self.path)
        try:
            self.connection = sqlite3.connect(self.path, isolation_level=None, timeout=30.0)
        except sqlite3.OperationalError as error:
            raise self._unwritable(error) from error
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.connection.close()
            raise self._unwritable(error) from error
        except BaseException:  # Ctrl-C, too
            self.connection.close()
            raise

    def _unwritable(self, error: sqlite3.Error) -> CollectionError:
        return CollectionError(
            f"the collection's database cannot be written: {error}",
            where=str(self.path),
            remedy="Check the disk and the permissions, or restore the file from a copy",
        )

    def _prepare(self) -> None:
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "cache_size = -65536",
        ):
            self.connection.execute(f"PRAGMA {pragma}")
        migrate(self.connection, self.path)

    def close(self) -> None:
        """Merge the write-ahead log into the database, as far as readers allow, and close."""
        with closing(self.connection), suppress(sqlite3.OperationalError):
            # What cannot be merged now, on a full disk say, stays committed in the log. Readers are
            # not waited for: with enough of them there is never a moment without one.
            self.connection.execute("PRAGMA busy_timeout = 0")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def __enter__(self) -> WriteStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        misuse = (sqlite3.IntegrityError, sqlite3.ProgrammingError)
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, misuse):
            raise self._unwritable(error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit everything in the block at once, or nothing of it; see `take_back`."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            if not self.connection.in_transaction:
                return
            with durable.stated("commit", self.path):
                self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise self._unwritable(error) from error
            raise

    def take_back(self) -> None:
        """End the open transaction as if it had never begun; its block does nothing after that."""
        self.connection.execute("ROLLBACK")

    def generation(self) -> Generation | None:
        """Return the newest committed generation, None before the first."""
        return read_generation(self.connection)

    def meta(self, key: str) -> Json:
        """Return a JSON value of `meta`, None when there is none."""
        return read_meta(self.connection, key)

    def set_meta(self, key: str, value: Json) -> None:
        """Store a JSON value; the caller has opened a transaction."""
        document = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
        self.connection.execute(
            "INSERT INTO meta (key, value, checksum) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value, checksum = excluded.checksum",
            (key, document, checksum((key, document))),
        )

    def save_document(self, key: str, value: Json) -> None:
        """Store a document apart from any commit, and its key in a list by which it is missed."""
        listed = set(self.meta(DOCUMENTS) or ())
        if key not in listed:
            self.set_meta(DOCUMENTS, sorted({*listed, key}))
        self.set_meta(f"{STATE}{key}", value)

    def known_hashes(self, hashes: Sequence[bytes], *, committed: bool) -> set[bytes]:
        """Return which text hashes have a vector: pending ones, and if `committed` stored ones."""
        found: set[bytes] = set()
        for part in chunked(hashes):
            marks = ",".join("?" * len(part))
            tables = ("pending", "texts") if committed else ("pending",)
            for table in tables:
                rows = self.connection.execute(
                    f"SELECT hash FROM {table} WHERE hash IN ({marks})", part
                )
                found.update(row[0] for row in rows)
        return found

    def add_pending(self, chunk: Chunk, fingerprint: str, texts: Iterable[TextRow]) -> None:
        """Record rows that are durable in the vector file but belong to no commit yet."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO pending_chunks (first_row, rows, file, sha256, fingerprint) "
                "VALUES (?, ?, ?, ?, ?)",
                (chunk.first_row, chunk.rows, chunk.file, chunk.sha256, fingerprint),
            )
            connection.executemany(
                "INSERT INTO pending (row, text, hash, tokens, truncated, has_unknown, vector_key, "
                "checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (text.values() for text in texts),
            )

    def pending_chunks(self) -> list[tuple[Chunk, str]]:
        """Return the unfinished chunks in row order, with their encoder's fingerprint."""
        rows = self.connection.execute(
            "SELECT first_row, rows, file, sha256, fingerprint FROM pending_chunks ORDER BY "
            "first_row"
        )
        return [
            (Chunk(first_row=first, rows=count, file=file, sha256=digest), fingerprint)
            for first, count, file, digest, fingerprint in rows
        ]

    def drop_pending(self, first_row: int) -> None:
        """Forget unfinished rows from `first_row` on."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM pending_chunks WHERE first_row >= ?", (first_row,))
            connection.execute("DELETE FROM pending WHERE row >= ?", (first_row,))

    def texts_of(self, rows: Sequence[int], *, pending: bool = False) -> list[str]:
        """Return the texts of vector rows, as ordered in `rows`."""
        tables = ("pending", "texts") if pending else ("texts",)
        sql = " UNION ALL ".join(f"SELECT text FROM {table} WHERE row = :row" for table in tables)
        found = (self.connection.execute(sql, {"row": int(row)}).fetchone() for row in rows)
        return [row[0] for row in found if row is not None]

    def vacuum(self) -> str | None:
        """Give free pages back to the disk; return why that is not possible now."""
        durable.reached("vacuum", self.path)
        try:
            self.connection.execute("VACUUM")
        except sqlite3.OperationalError as error:  # in use, or no room for the copy
            return str(error)
        return None
