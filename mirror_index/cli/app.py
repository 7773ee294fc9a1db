"""The entry point: commands load when they are called, errors become exits in one place."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from typing import NoReturn

import click

from mirror_index.cli.streams import prepare_streams
from mirror_index.errors import ExitCode, MirrorIndexError

COMMANDS = (
    "tune",
    "build",
    "add",
    "update",
    "sync",
    "delete",
    "history",
    "rollback",
    "search",
    "link",
    "annotate",
    "calibrate",
    "overrides",
    "diff",
    "compare-releases",
    "encode",
    "evaluate",
    "info",
    "verify",
    "repair",
    "export",
    "compact",
    "quarantine",
    "audit",
    "confusables",
    "lint",
    "list",
)
INTERRUPTED = 130
RARE_COLLECTIONS = (50_000, 20, 100)
"""Importing torch and transformers makes a million objects that stay: looking through them again
and again while they load, and once more at the end, took half a second of every command."""


class LazyGroup(click.Group):
    """A group whose commands live in ``mirror_index.cli.<name>``, imported when needed.

    A hyphen in a name is an underscore there.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"mirror_index.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mirror-index", prog_name="mirror-index")
def app() -> None:
    """Tune an encoder on your own texts without labels, index them, search them, link to them.

    \b
    A first run:
      mirror-index build names.txt -o names          # encode and index a file
      mirror-index search names "heart attack"       # nearest texts
      mirror-index build hp.obo -o hpo --tune        # an ontology, with a tuned encoder
      mirror-index link hpo "droopy eyelids"         # mention to concept, or none

    COLLECTION is a path, or a name under --home (default: indexes/, or $MIRROR_INDEX_HOME).
    SOURCE is a .txt, .csv, .tsv, .jsonl, .parquet, .sqlite, .obo, .owl, .ttl, OBO graph .json or
    UMLS .RRF file (all but .parquet and .sqlite also packed as .gz), or - for standard input.

    Exit status: 0 done; 1 failed; 2 wrong usage; 3 done, but rows were quarantined; 75 the
    collection is being written by another process.
    """  # noqa: D301 - click wants the control character


def main() -> NoReturn:
    """Run the command line and exit with the status of what happened."""
    prepare_streams()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    gc.set_threshold(*RARE_COLLECTIONS)
    atexit.register(gc.freeze)
    try:
        status = app.main(standalone_mode=False)
        sys.stdout.flush()
    except MirrorIndexError as error:
        fail(f"Error: {error}", error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        fail(
            "Interrupted. What was committed before is intact; the same command again goes on "
            "where this one stopped.",
            INTERRUPTED,
        )
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.FAILED)
    except (OSError, MemoryError) as error:
        fail(f"Error: {error or type(error).__name__}. Nothing that was committed is lost.", 1)
    sys.exit(status if isinstance(status, int) else 0)


def fail(message: str, status: int) -> NoReturn:
    """Say why on stderr and exit."""
    click.echo(message, err=True)
    sys.exit(status)
