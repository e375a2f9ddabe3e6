"""One recording: where its sound lies, what is said, and when."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from headlight.errors import CorpusError
from headlight.files import Location

Times = tuple[tuple[float, float], ...]
"""Beginning and end of every word, in seconds."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and its transcript.

    Attributes:
        name: Where it is from, for messages.
        audio: The file with its sound, which is read when a model hears it.
        text: What is said, in words that blanks separate.
        times: When each of these words is said; None where that is not known.
    """

    name: str
    audio: Location
    text: str
    times: Times | None = None


def checked_times(text: str, rows: Iterable[tuple[str, object, object]], place: str) -> Times:
    """The times of the words of a transcript.

    Args:
        text: The transcript.
        rows: A word, its beginning and its end in seconds; as many as the transcript has words.
        place: Where they are from, for messages.

    Raises:
        CorpusError: They are not those of the words, are no numbers, or go back in time.
    """
    words, found, now = text.split(), [], 0.0
    given = list(rows)
    said = [word for word, _, _ in given]
    if said != words:
        at = next((n for n, pair in enumerate(zip(said, words, strict=False)) if len({*pair}) > 1),
                  min(len(said), len(words)))  # fmt: skip
        has, wants = (each[at] if at < len(each) else "the end" for each in (said, words))
        raise CorpusError(
            f"{place}: word {at + 1} is {has!r}, and in the transcript it is {wants!r}; give the "
            "time of every word as the transcript writes it."
        )
    for word, start, end in given:
        begins, ends = _seconds(start), _seconds(end)
        if not now <= begins < ends:
            raise CorpusError(
                f"{place}: {word!r} lasts from {start} to {end}; times are seconds, each word ends "
                "after it begins, and none begins before the one that it follows."
            )
        found.append((begins, ends))
        now = begins
    return tuple(found)


def _seconds(value: object) -> float:
    """A number of seconds; -1 for what is none."""
    try:
        seconds = float(value)  # type: ignore[arg-type]  # of whatever the file holds
    except (TypeError, ValueError):
        return -1.0
    return seconds if isfinite(seconds) else -1.0
