"""Showing how far a run has come."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol, cast, runtime_checkable

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress as Display,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


@runtime_checkable
class Stream(Protocol):
    """The part of a text stream that is needed here; `sys.stderr` and `io.StringIO` have it."""

    def write(self, text: str, /) -> object:
        """Take some text."""

    def flush(self) -> object:
        """Pass it on."""

    def isatty(self) -> bool:
        """Whether a person looks at it."""


@runtime_checkable
class Progress(Protocol):
    """What a run tells while it goes on."""

    def skip(self, examples: int, tokens: int) -> None:
        """An earlier run has done this many already."""

    def advance(self, examples: int, tokens: int) -> None:
        """This many more are done."""

    def note(self, sentence: str) -> None:
        """Something worth knowing that is no error."""


class Speed:
    """Counts examples and tokens, and knows how fast they come; what was skipped took no time."""

    def __init__(
        self,
        total: int | None,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "examples",
    ) -> None:
        self.total = total
        self.unit = unit
        self.examples = 0
        self.tokens = 0
        self._skipped = 0
        self._clock = clock
        self._began = clock()

    def skip(self, examples: int, tokens: int) -> None:
        """Begin behind these."""
        self.examples += examples
        self._skipped += examples
        self._began = self._clock()

    def advance(self, examples: int, tokens: int) -> None:
        """Count these."""
        self.examples += examples
        self.tokens += tokens

    @property
    def tokens_per_second(self) -> float:
        """Since the beginning, or since what was skipped; 0 before the first."""
        elapsed = self._clock() - self._began
        return self.tokens / elapsed if elapsed > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """An estimate, None where the total is unknown or nothing is done yet."""
        done = self.examples - self._skipped
        if self.total is None or not done:
            return None
        elapsed = self._clock() - self._began
        return max(self.total - self.examples, 0) * elapsed / done

    def __str__(self) -> str:
        examples = f"{self.examples:,}" + (f" of {self.total:,}" if self.total else "")
        left = self.seconds_left
        ending = "" if left is None else f", about {_duration(left)} left"
        rate = f", {self.tokens_per_second:,.0f} tokens/s" if self.tokens else ""
        return f"{examples} {self.unit}{rate}{ending}"


class Lines:
    """Plain lines for a log file: at most one every half a minute."""

    def __init__(
        self,
        total: int | None,
        stream: Stream,
        *,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "examples",
    ) -> None:
        self._speed = Speed(total, clock, unit)
        self._stream = stream
        self._seconds = seconds
        self._clock = clock
        self._said = clock()

    def skip(self, examples: int, tokens: int) -> None:
        """Say how many are done already."""
        self._speed.skip(examples, tokens)
        self.note(f"{examples:,} {self._speed.unit} were done before")

    def advance(self, examples: int, tokens: int) -> None:
        """Count, and say so if it is time."""
        self._speed.advance(examples, tokens)
        if self._clock() - self._said >= self._seconds:
            self._said = self._clock()
            self.note(str(self._speed))

    def note(self, sentence: str) -> None:
        """Say it at once."""
        self._stream.write(f"{sentence}\n")
        self._stream.flush()


class Bar:
    """A bar with examples, tokens per second and time left, on a terminal."""

    def __init__(self, total: int | None, display: Display, unit: str = "examples") -> None:
        self._speed = Speed(total, unit=unit)
        self._display = display
        self._task = display.add_task(unit, total=total, tokens_per_second=0.0)

    def skip(self, examples: int, tokens: int) -> None:
        """Begin at the right place; `reset` keeps the jump out of the estimate of the time left."""
        self._speed.skip(examples, tokens)
        self._display.reset(self._task, completed=self._speed.examples)

    def advance(self, examples: int, tokens: int) -> None:
        """Move on."""
        self._speed.advance(examples, tokens)
        self._display.update(
            self._task, advance=examples, tokens_per_second=self._speed.tokens_per_second
        )

    def note(self, sentence: str) -> None:
        """Print a line above the bar."""
        self._display.console.print(sentence, markup=False, highlight=False)


@contextmanager
def show_progress(
    total: int | None, stream: Stream | None = None, *, unit: str = "examples"
) -> Iterator[Progress]:
    """A bar where there is a terminal, else a line every half a minute.

    Args:
        total: The number of examples, None if it is not known.
        stream: Where to; by default the standard error stream.
        unit: What is counted.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield Lines(total, stream, unit=unit)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), _Done(), _Rate())
    with Display(
        *columns,
        TimeRemainingColumn(),
        console=Console(file=cast("IO[str]", stream)),
        transient=True,
    ) as display:
        yield Bar(total, display, unit)


class _Done(ProgressColumn):
    def render(self, task: Task) -> Text:
        of = "" if task.total is None else f" of {int(task.total):,}"
        return Text(f"{int(task.completed):,}{of}")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        rate = task.fields["tokens_per_second"]
        return Text(f"{rate:,.0f} tokens/s" if rate else "")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
