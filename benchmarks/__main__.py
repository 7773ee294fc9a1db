"""`python -m benchmarks [NAME ...] [--quick] [--fresh] [--report-only]`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence

from benchmarks import harness, report

BENCHMARKS = {
    "encoding": "encoding:run",
    "build.hpo": "build:run_hpo",
    "build.sentences": "build:run_sentences",
    "build.wordnet": "build:run_wordnet",
    "build.profile": "build:run_profile",
    "adding": "adding:run",
    "faults": "faults:run",
    "cold_start": "cold_start:run",
    "rrf": "rrf:run",
    "tuning.speed": "tuning_speed:run",
    "tuning.equal_quality": "tuning_speed:run_quality",
    "tuning.gain": "tuning_gain:run",
    "tuning.variants": "tuning:run",
    "engines.100000": "vector_engines:run",
    "engines.1000000": "vector_engines:run_million",
    "quality.sts": "quality_text:run_sts",
    "quality.scifact": "quality_text:run_scifact",
    "quality.typos": "quality_typos:run_typos",
    "quality.held_out": "quality_linking:run_held_out",
    "quality.mentions": "quality_linking:run_mentions",
    "quality.linkers": "linkers:run",
    "quality.contexts": "contexts:run",
    "linking.million": "linking_million:run",
    "quality.annotation": "annotation:run",
}
"""Module and function of each benchmark; those that share the word before the dot are a group."""


def main() -> None:
    parser = _parser()
    wishes = parser.parse_args()
    names = _chosen(wishes.names, parser)
    if wishes.report_only:
        print(f"Wrote {report.write_results(list(BENCHMARKS))}")
        return
    if wishes.fresh:
        harness.forget_kept()
    harness.limit_cores()
    for name in names:
        _measure(name, wishes.quick)
    if names == list(BENCHMARKS) and not wishes.quick:
        print(f"Wrote {report.write_results(names)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Side-by-side measurements; see README.md."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the code out")
    parser.add_argument("--fresh", action="store_true", help="forget the kept steps of quality.*")
    parser.add_argument(
        "--report-only", action="store_true", help="write RESULTS.md from what was measured before"
    )
    return parser


def _chosen(wanted: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return the benchmarks of the names and groups wanted, all of them for none."""
    groups = {name.partition(".")[0] for name in BENCHMARKS}
    for name in wanted:
        if name not in BENCHMARKS and name not in groups:
            parser.error(f"no benchmark {name}; there are: {', '.join(BENCHMARKS)}")
    return [
        name
        for name in BENCHMARKS
        if not wanted or name in wanted or name.partition(".")[0] in wanted
    ]


def _measure(name: str, quick: bool) -> None:
    harness.say(f"{name} ...")
    facts = harness.environment()
    module, _, function = BENCHMARKS[name].partition(":")
    run: Callable[[bool], report.Result]
    run = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    try:
        result = run(quick)
    except harness.UnavailableError as error:
        print(f"{name}: skipped, {error}\n", flush=True)
        return
    measurement = report.Measurement(name=name, quick=quick, facts=facts, result=result)
    path = measurement.save()
    print(report.text_of(measurement))
    harness.say(f"wrote {path.relative_to(harness.ROOT)}")


if __name__ == "__main__":
    main()
