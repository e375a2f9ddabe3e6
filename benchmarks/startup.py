"""How long it takes until something happens."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 9


def seconds(command: list[str]) -> float:
    """Wall-clock time of one whole process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table."""
    script = str(Path(sys.executable).with_name("headlight"))
    commands = {
        "empty": [sys.executable, "-c", ""],
        "import": [sys.executable, "-c", "import headlight"],
        "help": [script, "--help"],
    }
    times = {name: [seconds(command) for _ in range(ROUNDS)] for name, command in commands.items()}
    median = {name: statistics.median(values) for name, values in times.items()}
    extra = median["import"] - median["empty"]
    return [
        ("`import headlight`, above an empty interpreter", f"{extra:.3f} s", "< 0.3 s", ""),
        ("`headlight --help`", f"{median['help']:.2f} s", "< 0.5 s", ""),
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
