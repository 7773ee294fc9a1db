"""S15: a second writer is told who holds the collection; a killed one leaves no lock behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.errors import CollectionBusyError, ExitCode
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

HOLD = """
import sys, time
from pathlib import Path
from mirror_index.collection.starting import writing
with writing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_s15_two_writers(tmp_path: Path) -> None:
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(10))
    folder = tmp_path / "c"
    with Collection.build(folder, names(10), encoder=encoder) as collection:
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(CollectionBusyError, match=f"process id {holder.pid}") as raised:
                collection.add(names(5, start=10))
            assert raised.value.exit_code is ExitCode.BUSY
            with pytest.raises(CollectionBusyError):
                collection.delete(["r00001"], timeout=0.1)
            oracle.check(collection, ["renal failure type 3"])
            os.kill(holder.pid, signal.SIGKILL)
            holder.wait()
        collection.add(names(5, start=10))
        oracle.put(names(5, start=10))
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok
