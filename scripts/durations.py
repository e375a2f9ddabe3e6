"""Print the slowest tests, and the tests that have become slower than in an earlier run.

    python scripts/durations.py build/durations
    python scripts/durations.py build/durations --before FOLDER

`make test` writes one file for each of its suites to build/durations.  All times are those of the
processor, in seconds: they hardly depend on what else the machine does.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

SHOWN = 30
SLOWER, SECONDS = 1.5, 0.3
"""A test is slower from this ratio on, if that makes this many seconds."""

Times = Mapping[str, float]


def read(place: Path) -> dict[str, Times]:
    """Return the seconds of each test by suite, from a file or a folder of files."""
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    suites = {path.stem: map(json.loads, path.read_text("utf-8").splitlines()) for path in files}
    return {
        suite: {row["test"]: row["processor"] for row in rows} for suite, rows in suites.items()
    }


def slowest(suites: Mapping[str, Times]) -> list[str]:
    """Return the total of each suite, and a line for each of the slowest tests of all."""
    totals = [
        f"{sum(each.values()):9.1f}  {name}, {len(each)} tests" for name, each in suites.items()
    ]
    tests = [(seconds, test) for each in suites.values() for test, seconds in each.items()]
    ranked = sorted(tests, reverse=True)[:SHOWN]
    return [*totals, "", *(f"{seconds:9.1f}  {test}" for seconds, test in ranked)]


def slower(before: Mapping[str, Times], after: Mapping[str, Times]) -> list[str]:
    """Return a line for each test that takes longer than before, the largest differences first."""
    pairs = [
        (before[suite][test], seconds, test)
        for suite in before.keys() & after.keys()
        for test, seconds in after[suite].items()
        if test in before[suite]
    ]
    longer = [pair for pair in pairs if pair[1] > max(SLOWER * pair[0], pair[0] + SECONDS)]
    ranked = sorted(longer, key=lambda pair: pair[0] - pair[1])
    return [f"{first:9.1f} {second:9.1f}  {test}" for first, second, test in ranked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("after", type=Path, help="a file, or a folder of files")
    parser.add_argument("--before", type=Path, help="those of an earlier run")
    arguments = parser.parse_args()
    after = read(arguments.after)
    print(f"The {SHOWN} tests that take the longest, in seconds of a processor:")
    print("\n".join(slowest(after)))
    if arguments.before:
        print("\nTests that take longer than before:")
        print("\n".join(slower(read(arguments.before), after) or ["none"]))


if __name__ == "__main__":
    main()
