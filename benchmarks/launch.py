"""Run one command and write down its time and its peak memory; a script on the standard library.

The kernel counts the memory of the process that starts a command into the peak of the command. A
benchmark with a model loaded would therefore spoil the figure; this small process stands between.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

STARTED = "MIRROR_INDEX_BENCHMARK_STARTED"
"""Environment variable that tells the command when it was started, on the monotonic clock."""


def main() -> None:
    report, *command = sys.argv[1:]
    started = time.monotonic()
    pid = os.posix_spawn(command[0], command, {**os.environ, STARTED: repr(started)})
    _, status, usage = os.wait4(pid, 0)
    values = {
        "started": started,
        "ended": time.monotonic(),
        "status": os.waitstatus_to_exitcode(status),
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    Path(report).write_text(json.dumps(values), encoding="utf-8")


if __name__ == "__main__":
    main()
