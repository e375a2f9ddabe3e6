"""Run every benchmark and write the table of the documentation.

python -m benchmarks
"""

import platform
from datetime import UTC, datetime
from pathlib import Path

import torch
import transformers

from benchmarks import dependency, distances, gradient, memory, startup, survey

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Written by `make bench`; every figure comes from one run of it. Times are medians over rounds in
which everything is run in turn, and ratios are taken within a round, against the plain forward pass
(sdpa, no attention weights) of the same model in the same process. The aims were set before the
code was written.
"""


def processor() -> str:
    """What the machine calls its processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def page() -> str:
    """The page as Markdown."""
    parts = (survey, gradient, dependency, distances, memory, startup)
    rows = [row for part in parts for row in part.main()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    day = datetime.now(UTC).date().isoformat()
    return (
        f"{INTRODUCTION}\n| what | measured | aim | remark |\n|---|---|---|---|\n{table}\n\n"
        f"{day}, {processor()}, {survey.THREADS} threads, torch {torch.__version__}, "
        f"transformers {transformers.__version__}, Python {platform.python_version()}.\n"
    )


def main() -> None:
    """Write the page whole or not at all."""
    text = page()
    fresh = PAGE.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(PAGE)
    print(text)


if __name__ == "__main__":
    main()
