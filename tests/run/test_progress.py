"""What a run shows while it goes on."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress as Display, TextColumn

from headlight.run.progress import Bar, Lines, Progress, Speed, show_progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_speed_counts_examples_and_tokens() -> None:
    clock = Clock()
    speed = Speed(100, clock)
    assert (speed.tokens_per_second, speed.seconds_left) == (0, None)
    clock.now += 10
    speed.advance(20, 5_000)
    assert speed.tokens_per_second == 500
    assert speed.seconds_left == 40
    assert str(speed) == "20 of 100 examples, 500 tokens/s, about 0:40 left"


def test_speed_leaves_out_what_was_skipped() -> None:
    clock = Clock()
    speed = Speed(100, clock)
    clock.now += 1000  # it takes a while to pass over what is done
    speed.skip(60, 10**6)
    assert speed.seconds_left is None
    clock.now += 10
    speed.advance(20, 5_000)
    assert speed.tokens_per_second == 500
    assert speed.seconds_left == 10
    assert str(speed).startswith("80 of 100 examples")


@pytest.mark.parametrize(("seconds", "shown"), [(59.6, "1:00"), (3725, "1:02:05"), (5, "0:05")])
def test_time_left_is_readable(seconds: float, shown: str) -> None:
    clock = Clock()
    speed = Speed(2, clock)
    clock.now += seconds
    speed.advance(1, 1)
    assert f"about {shown} left" in str(speed)


def test_an_unknown_total_shows_no_time_left() -> None:
    clock = Clock()
    speed = Speed(None, clock)
    clock.now += 2
    speed.advance(1234, 5_000)
    assert str(speed) == "1,234 examples, 2,500 tokens/s"


def test_lines_come_every_half_a_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(None, stream, clock=clock)
    for _ in range(100):
        clock.now += 1
        lines.advance(2, 50)
    assert stream.getvalue().splitlines() == [
        "60 examples, 50 tokens/s",
        "120 examples, 50 tokens/s",
        "180 examples, 50 tokens/s",
    ]


def test_lines_say_what_was_skipped_and_noted() -> None:
    stream = io.StringIO()
    lines = Lines(None, stream)
    lines.skip(1_000, 10)
    lines.note("memory ran out")
    assert stream.getvalue() == "1,000 examples were done before\nmemory ran out\n"


def test_without_a_terminal_nothing_is_drawn() -> None:
    stream = io.StringIO()
    with show_progress(10, stream) as progress:
        assert isinstance(progress, Progress)
        progress.advance(10, 100)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("total", [None, 10])
def test_on_a_terminal_there_is_a_bar(total: int | None) -> None:
    stream = Terminal()
    with show_progress(total, stream) as progress:
        assert isinstance(progress, Progress)
        progress.skip(2, 20)
        progress.note("[SEP] is no markup")
        progress.advance(5, 100)
    shown = stream.getvalue()
    assert "[SEP] is no markup" in shown
    assert "tokens/s" in shown
    assert ("7 of 10" in shown) == (total is not None)


def test_the_bar_stands_where_the_run_is() -> None:
    display = Display(TextColumn(""), console=Console(file=io.StringIO()))
    bar = Bar(10, display)
    bar.skip(4, 40)
    bar.advance(3, 30)
    assert display.tasks[0].completed == 7
    assert display.tasks[0].fields["tokens_per_second"] > 0
