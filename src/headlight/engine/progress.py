"""Progress of a run: a bar on a terminal, lines in a log file."""

import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from threading import Timer
from time import monotonic
from typing import Any, Protocol, runtime_checkable

from tqdm import tqdm

from headlight.files import printable

LOG_SECONDS = 30.0
"""Minimum number of seconds between two lines of a log file."""

AWHILE = 2.0
"""Seconds after which work without a count is announced."""

SLOW = 10
"""Tokens per second below which the speed is shown per minute, so that the number moves."""

TRUSTED = 0.05
"""Weight of an expected time beside the pace of what is done, as a share of that time."""


@runtime_checkable
class Stream(Protocol):
    """The part of a text stream that is needed here; `sys.stderr` and `io.StringIO` have it."""

    def write(self, text: str, /) -> object:
        """Write a text."""

    def flush(self) -> object:
        """Pass on what was written."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""


@runtime_checkable
class Progress(Protocol):
    """Callbacks of a run."""

    def skip(self, examples: int, tokens: int) -> None:
        """Count what an earlier run has done already."""

    def advance(self, examples: int, tokens: int, seconds: float = 0.0) -> None:
        """Count what is done, and the seconds that it was expected to take."""

    def note(self, sentence: str) -> None:
        """Show a sentence that is worth knowing and no error."""

    def share(self, workers: int, blocks: int) -> None:
        """Show the number of workers at work now, and of blocks done by all of them."""


class Bar(tqdm):  # type: ignore[type-arg]  # nothing is iterated over
    """Bar with examples, tokens per second and time left, on a terminal.

    Args:
        total: Number of examples, None if it is not known.
        stream: Stream to which the bar is written.
        unit: Plural noun for what is counted.
        layout: Format of what is shown before the counts.
        seconds: Expected seconds of all examples, where examples differ in duration.
        options: Options of tqdm.
    """

    monitor_interval = 0  # no thread beside the run

    def __init__(
        self,
        total: int | None,
        stream: Stream,
        unit: str = "examples",
        *,
        layout: str = "{bar} ",
        seconds: float = 0.0,
        **options: Any,
    ) -> None:
        self.tokens = 0
        self._expected, self._worked = seconds, 0.0
        self.crew = ""
        out_of = "" if total is None else " of {total_fmt}"
        remaining = "" if total is None else ", {remaining} left"
        remaining = ", {ahead} left" if seconds else remaining
        super().__init__(
            total=total,
            unit=unit,
            file=stream,
            bar_format=f"{layout}{{n_fmt}}{out_of} {{unit}}{{speed}}{remaining}{{crew}}",
            # The mean speed of all of it: batches are long and short in turn.
            smoothing=0,
            leave=False,
            **options,
        )
        if not self.disable:  # the clock of the day, by which tqdm goes, may be set meanwhile
            self._time = monotonic
            self.start_t = self.last_print_t = monotonic()

    def __bool__(self) -> bool:
        """Return True, so that a bar differs from None; one of tqdm is false without a total."""
        return True

    @property
    def format_dict(self) -> MutableMapping[str, Any]:
        """Return the values for `layout`: those of tqdm, and the tokens per second."""
        values = super().format_dict
        speed = self.tokens / values["elapsed"] if values["elapsed"] else 0
        slow = f", {max(60 * speed, 1):,.0f} tokens/min" if speed else ""
        values["speed"] = f", {speed:,.0f} tokens/s" if speed >= SLOW else slow
        values["crew"] = self.crew
        values["ahead"] = self.format_interval(self._ahead(float(values["elapsed"])))
        return values

    def _ahead(self, elapsed: float) -> float:
        # The expectation counts beside the pace at first, as few seconds tell little of that.
        trusted = TRUSTED * self._expected
        pace = (trusted + elapsed) / (trusted + self._worked) if self._worked else 1.0
        return max(self._expected - self._worked, 0.0) * pace

    def skip(self, examples: int, tokens: int) -> None:
        """Begin behind these examples; the time that it took to pass over them does not count."""
        self.n = self.initial = self.last_print_n = self.n + examples
        self.unpause()

    def advance(self, examples: int, tokens: int, seconds: float = 0.0) -> None:
        """Advance the bar."""
        self.tokens += tokens
        self._worked += seconds
        self.update(examples)

    def note(self, sentence: str) -> None:
        """Print a line above the bar."""
        self.write(sentence, file=self.fp)

    def share(self, workers: int, blocks: int) -> None:
        """Show the numbers of workers and blocks behind the counts."""
        several = [
            f"{number:,} {name}{'' if number == 1 else 's'}"
            for number, name in ((workers, "worker"), (blocks, "block"))
        ]
        self.crew = f"; {several[0]}, {several[1]} done"
        self.update(0)  # if the last time is some while ago


class Lines(Bar):
    """Plain lines for a log file: at most one every half minute, none for a short run.

    The last line is about the whole run.
    """

    def __init__(
        self, total: int | None, stream: Stream, unit: str = "examples", *, seconds: float = 0.0
    ) -> None:
        self._said: float | None = None
        super().__init__(
            total,
            stream,
            unit,
            layout="",
            seconds=seconds,
            mininterval=LOG_SECONDS,
            miniters=1,
            delay=LOG_SECONDS,
        )

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Write a line of its own where a bar would be drawn over the previous one."""
        if msg is None:
            self._said = self.n
            self.note(str(self))

    def close(self) -> None:
        """Close with a line about the total."""
        if not self.disable and self._said not in (None, self.n):
            self.display()
        super().close()

    def skip(self, examples: int, tokens: int) -> None:
        """Write how many examples are done already."""
        super().skip(examples, tokens)
        self.note(f"{examples:,} {self.unit} were done before")

    def note(self, sentence: str) -> None:
        """Write a sentence at once."""
        self.fp.write(f"{sentence}\n")
        self.fp.flush()


@contextmanager
def show_progress(
    total: int | None,
    stream: Stream | None = None,
    *,
    unit: str = "examples",
    title: str = "",
    seconds: float = 0.0,
) -> Iterator[Progress]:
    """Show a bar where there is a terminal, else a line every half minute.

    Args:
        total: Number of examples, None if it is not known.
        stream: Output stream; by default the standard error stream.
        unit: Plural noun for what is counted.
        title: Title of the work, shown before it begins; empty where a run has a single part.
        seconds: Expected seconds of all examples; 0 where the number of examples tells enough.
    """
    stream = stream or sys.stderr
    progress = (
        Bar(total, stream, unit, seconds=seconds, dynamic_ncols=True)
        if stream.isatty()
        else Lines(total, stream, unit, seconds=seconds)
    )
    with progress as bar:
        if title:
            bar.note(title)
        yield bar


@contextmanager
def announced(doing: str, stream: Stream | None = None) -> Iterator[None]:
    """Announce the work of the block once it has lasted a while, in a line of its own.

    Quick work is not announced.

    Args:
        doing: Phrase for the work, such as ``loading gpt2``.
        stream: Output stream; by default the standard error stream.
    """
    timer = Timer(AWHILE, Bar.write, [printable(f"{doing} …"), stream or sys.stderr])
    timer.daemon = True  # a program that ends does not wait to say what it did
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
