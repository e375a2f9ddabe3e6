"""Times of several functions, taken in turn, so that a drifting machine drifts for all of them."""

import json
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Row = tuple[str, str, str, str]
"""Of a table: what, measured, aim, remark."""


def rounds(
    functions: Mapping[str, Callable[[], object]],
    count: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each function in each of `count` rounds, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(count + 1):
        for name, function in functions.items():
            began = clock()
            function()
            if number:
                times[name].append(clock() - began)
    return times


def ratio(times: Mapping[str, list[float]], name: str, base: str) -> float:
    """Median over the rounds of the ratio within the round."""
    return statistics.median(
        one / other for one, other in zip(times[name], times[base], strict=True)
    )


def with_json(parser: ArgumentParser, name: str) -> None:
    """Add the option that says where the numbers of a table go."""
    place = Path("build/benchmarks") / f"{name}.json"
    parser.add_argument("--json", type=Path, default=place, help=f"default {place}")


def show(rows: Sequence[Row], file: Path) -> None:
    """Print a table as docs/benchmarks.md has it, and write it to a file of JSON."""
    print("| what | measured | aim | remark |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
