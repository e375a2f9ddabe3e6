"""What a run shows while it goes on."""

import io

import pytest

from engine.corpus import run, texts, work
from headlight.engine.progress import Bar, Lines, Progress, show_progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("headlight.engine.progress.monotonic", clock)
    return clock


def test_it_counts_examples_and_tokens(clock: Clock) -> None:
    lines = Lines(100, io.StringIO())
    assert str(lines) == "0 of 100 examples, ? left"
    clock.now += 10
    lines.advance(20, 5_000)
    assert str(lines) == "20 of 100 examples, 500 tokens/s, 00:40 left"


def test_what_is_slow_is_counted_by_the_minute(clock: Clock) -> None:
    """5 examples of 7 tokens in a minute were 0 tokens/s."""
    lines = Lines(20, io.StringIO())
    clock.now += 60
    lines.advance(5, 7)
    assert str(lines) == "5 of 20 examples, 7 tokens/min, 03:00 left"
    lines.advance(5, 233)  # 4 a second, which would stand still
    assert "240 tokens/min" in str(lines)
    lines.advance(5, 360)
    assert "10 tokens/s" in str(lines)


def test_examples_that_differ_in_time_count_by_what_they_are_expected_to_take(
    clock: Clock,
) -> None:
    """A hundred quick ones after two slow ones: by their number, 15 hours would be left."""
    lines = Lines(102, io.StringIO(), "maps", seconds=2 * 1_000.0 + 100)
    assert str(lines) == "0 of 102 maps, 35:00 left"
    left = []
    for _ in range(2):
        clock.now += 600
        lines.advance(1, 0, 1_000.0)
        left.append(lines.format_dict["ahead"])
    assert left == ["11:41", "01:01"], "towards 6 tenths of what was expected"
    for _ in range(100):
        clock.now += 0.6
        lines.advance(1, 0, 1.0)
    assert str(lines) == "102 of 102 maps, 00:00 left"


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_a_pass_is_named_before_it_begins(stream: io.StringIO) -> None:
    with show_progress(20, stream, title="how good the estimate is"):
        assert "how good the estimate is" in stream.getvalue()


def test_it_says_who_works(clock: Clock) -> None:
    bar = Bar(100, Terminal())
    bar.share(1, 12)
    clock.now += 10
    bar.advance(20, 0)
    assert str(bar).endswith("20 of 100 examples, 00:40 left; 1 worker, 12 blocks done")


def test_the_speed_leaves_out_what_was_skipped(clock: Clock) -> None:
    lines = Lines(100, io.StringIO())
    clock.now += 1000  # it takes a while to pass over what is done
    lines.skip(60, 10**6)
    assert str(lines) == "60 of 100 examples, ? left"
    clock.now += 10
    lines.advance(20, 5_000)
    assert str(lines) == "80 of 100 examples, 500 tokens/s, 00:10 left"


@pytest.mark.parametrize(("seconds", "shown"), [(60, "01:00"), (3725, "1:02:05"), (5, "00:05")])
def test_time_left_is_readable(clock: Clock, seconds: float, shown: str) -> None:
    lines = Lines(2, io.StringIO())
    clock.now += seconds
    lines.advance(1, 0)
    assert str(lines) == f"1 of 2 examples, {shown} left"


def test_an_unknown_total_shows_no_time_left(clock: Clock) -> None:
    lines = Lines(None, io.StringIO(), "maps")
    clock.now += 2
    lines.advance(1234, 5_000)
    assert str(lines) == "1234 maps, 2,500 tokens/s"


def test_lines_come_every_half_a_minute(clock: Clock) -> None:
    stream = io.StringIO()
    with Lines(None, stream) as lines:
        for _ in range(100):
            clock.now += 1
            lines.advance(2, 50)
    assert stream.getvalue().splitlines() == [
        "60 examples, 50 tokens/s",
        "120 examples, 50 tokens/s",
        "180 examples, 50 tokens/s",
        "200 examples, 50 tokens/s",  # the last one is the total
    ]


def test_the_total_is_said_once(clock: Clock) -> None:
    stream = io.StringIO()
    with Lines(None, stream) as lines:
        clock.now += 31
        lines.advance(2, 62)
    assert stream.getvalue().splitlines() == ["2 examples, 120 tokens/min"]


def test_lines_say_what_was_skipped_and_noted() -> None:
    stream = io.StringIO()
    lines = Lines(None, stream)
    lines.skip(1_000, 10)
    lines.note("memory ran out")
    assert stream.getvalue() == "1,000 examples were done before\nmemory ran out\n"


@pytest.mark.parametrize("hours", [-3, 3])
def test_the_clock_of_the_day_may_be_set_meanwhile(
    hours: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines would stop for hours, or count hours in which nothing was done."""
    day, stream = Clock(), io.StringIO()
    monkeypatch.setattr("tqdm.std.time", day)
    with Lines(100, stream) as lines:
        for each in (10, 40):
            clock.now, day.now = clock.now + each, day.now + hours * 3600
            lines.advance(20, 500)
            assert "-" not in str(lines)
    assert stream.getvalue().splitlines() == ["40 of 100 examples, 20 tokens/s, 01:15 left"]


@pytest.mark.parametrize("total", [None, 0, 10])
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_run_tells_it_from_none(total: int | None, stream: type[io.StringIO]) -> None:
    shown = stream()
    with show_progress(total, shown) as progress:
        assert progress
        assert run(texts(10), work(), signature={}, progress=progress).examples == 10
        assert progress.n == 10


@pytest.mark.parametrize("total", [None, 10])
def test_without_a_terminal_a_short_run_says_nothing(total: int | None) -> None:
    stream = io.StringIO()
    with show_progress(total, stream) as progress:
        assert isinstance(progress, Progress)
        progress.advance(10, 100)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("total", [None, 10])
def test_on_a_terminal_there_is_a_bar(clock: Clock, total: int | None) -> None:
    stream = Terminal()
    with show_progress(total, stream) as progress:
        assert isinstance(progress, Progress)
        progress.skip(2, 20)
        progress.note("[SEP] is no markup")
        clock.now += 1
        progress.advance(5, 100)
    shown = stream.getvalue()
    assert "[SEP] is no markup\n" in shown
    assert ("7 of 10 examples, 100 tokens/s, 00:00 left" in shown) == (total is not None)
    assert ("7 examples, 100 tokens/s" in shown) == (total is None)
    assert shown.endswith("\r")  # and the bar is gone at the end


def test_the_bar_stands_where_the_run_is() -> None:
    bar = Bar(10, Terminal())
    bar.skip(4, 40)
    bar.advance(3, 30)
    assert bar.n == 7
    bar.close()
