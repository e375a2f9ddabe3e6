"""A run as a process of its own: `process.py FOLDER NUMBER SECONDS [--resume] [--die-at=N]`.

It takes NUMBER texts, sleeps SECONDS over each batch, and says on its output when it begins to
measure. A refusal is one line on the error stream, as the command line has it. With `--die-at` it
kills itself when it asks for the Nth time that something reach the disk: for odd numbers a file
under its temporary name, for even ones a folder in which a file has just got its final name.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from engine.corpus import Text, measure, run, texts, work
from headlight.engine.lock import locked
from headlight.errors import HeadlightError
from headlight.reduce import Tally


def main(folder: str, number: str, seconds: str, *options: str) -> int:
    def slow(batch: Sequence[Text]) -> Tally:
        sys.stdout.write(f"{batch[0].name}\n")
        sys.stdout.flush()
        time.sleep(float(seconds))
        return measure(batch)

    for option in options:
        if option.startswith("--die-at="):
            die_at(int(option.partition("=")[2]))
    try:
        with locked(Path(folder)):
            run(
                texts(int(number)),
                work(slow),
                folder=Path(folder),
                signature={"model": "none"},
                resume="--resume" in options,
            )
    except HeadlightError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def die_at(number: int) -> None:
    synced = os.fsync
    calls = iter(range(1, number + 1))

    def fsync(descriptor: int) -> None:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        synced(descriptor)

    os.fsync = fsync


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
