"""Recordings with transcripts: a folder of sound and text, or a table of both."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from headlight.corpora.archives import text_files
from headlight.corpora.corpus import Corpus, CorpusCounts, corpus_in_memory
from headlight.corpora.file_kinds import SOUND
from headlight.corpora.files import files
from headlight.corpora.json_lines import json_rows
from headlight.corpora.lines import Lines
from headlight.corpora.tables import comma_rows, tab_rows
from headlight.corpora.text_checks import demand_characters
from headlight.corpora.text_formats import text_column
from headlight.errors import CorpusError
from headlight.files import Location, storable

Times = tuple[tuple[float, float], ...]
"""Beginning and end of every word, in seconds."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Recording and its transcript.

    Attributes:
        name: Place that it is from, for messages.
        audio: File with its sound, which is read when a model hears it.
        text: Transcript, in words that blanks separate.
        times: Times of these words; None where they are not known.
    """

    name: str
    audio: Location
    text: str
    times: Times | None = None


def checked_times(text: str, rows: Iterable[tuple[str, object, object]], place: str) -> Times:
    """Return the times of the words of a transcript.

    Args:
        text: Transcript.
        rows: Rows of a word, its beginning and its end in seconds, one for each word of the
            transcript.
        place: Place that they are from, for messages.

    Raises:
        CorpusError: The times are not those of the words, are no numbers, or go back in time.
    """
    words, times, now = text.split(), [], 0.0
    triples = list(rows)
    timed = [word for word, _, _ in triples]
    if timed != words:
        # The first word that differs; else one of the two ends early.
        at = next(
            (n for n, pair in enumerate(zip(timed, words, strict=False)) if len({*pair}) > 1),
            min(len(timed), len(words)),
        )
        has, wants = (side[at] if at < len(side) else "the end" for side in (timed, words))
        raise CorpusError(
            f"{place}: word {at + 1} is {has!r}, and in the transcript it is {wants!r}; give the "
            "time of every word as the transcript writes it."
        )
    for word, start, end in triples:
        begins, ends = _seconds(start), _seconds(end)
        if not now <= begins < ends:
            raise CorpusError(
                f"{place}: {word!r} lasts from {start} to {end}; times are seconds, each word ends "
                "after it begins, and none begins before the one that it follows."
            )
        times.append((begins, ends))
        now = begins
    return tuple(times)


def _seconds(value: object) -> float:
    """Return a number of seconds; -1 for any other value."""
    try:
        seconds = float(value)  # type: ignore[arg-type]  # of whatever the file holds
    except (TypeError, ValueError):
        return -1.0
    return seconds if isfinite(seconds) else -1.0


TRANSCRIPT, TIMES = ".txt", ".times"
"""Suffixes of the files beside a sound: its words, and their times."""

AUDIO = ("audio", "path", "file")
"""Columns and keys that may name the file with the sound; the first that is there does."""
WORDS = "words"
"""Key of JSON lines with the words and their times."""

TABLES = {
    ".tsv": tab_rows,
    ".csv": comma_rows,
    ".jsonl": json_rows,
    ".ndjson": json_rows,
    ".json": json_rows,
}


def open_recordings(
    source: str | Location | Iterable[Recording], *, column: str | None = None
) -> Corpus[Recording]:
    """Open recordings of speech with their transcripts.

    * A folder, a pattern or a file of WAV files: beside ``a.wav`` lies ``a.txt`` with its
      transcript, and there may be ``a.times`` with a line for each word of it: the word, its
      beginning and its end in seconds, separated by blanks or tabs.
    * A table (``.tsv``, ``.csv`` with a header line, ``.jsonl``): its column ``audio`` (or
      ``path``, ``file``) names the WAV file, as seen from the table, ``text`` is the transcript.
      The key ``words`` of JSON lines may hold ``[word, start, end]`` for each word.

    No sound is read yet.

    Args:
        source: Path, pattern, folder, or recordings; an open corpus of them stays as it is.
        column: Column or key of the transcript; by default ``text``.

    Raises:
        CorpusError: There is no such file, or, while it is read: a recording has no transcript, or
            times that are not those of its words.
    """
    if not isinstance(source, str | Location):
        return corpus_in_memory(source, "speech", "recordings", element=Recording)
    paths = files(source)
    sounds = [file for file in paths if is_sound(file)]
    tables = [file for file in paths if file.suffix.lower() in TABLES]
    if not sounds and not tables:
        raise CorpusError(
            f"{storable(source)} holds no recordings; give a folder of WAV files, each with its "
            "transcript in a .txt file of the same name, or a table with the columns audio and "
            "text."
        )

    beside = (*sounds, *(sound.with_suffix(end) for sound in sounds for end in (TRANSCRIPT, TIMES)))
    others = set(paths).difference(beside if sounds else tables)

    def read(counts: CorpusCounts) -> Iterator[Recording]:
        counts.other_files = len(others)
        if sounds:
            yield from map(_beside, sounds)
        else:
            for table in tables:
                for lines in text_files(table):
                    yield from _read_table(lines, table, column)

    return Corpus(storable(source), read, "speech")


def is_sound(file: Location) -> bool:
    """Return whether a file has the suffix of sound that is read here."""
    return file.suffix.lower() == SOUND


def _beside(sound: Location) -> Recording:
    """Return a recording whose transcript lies beside its sound."""
    name, transcript = storable(sound), sound.with_suffix(TRANSCRIPT)
    if not transcript.exists():
        raise CorpusError(
            f"{name} has no transcript; write the words into {transcript.name} beside it, or "
            "leave the recording out."
        )
    text = " ".join(_words_of(transcript))
    if not text:
        raise CorpusError(f"{storable(transcript)} is empty; write the words of {sound.name}.")
    times = sound.with_suffix(TIMES)
    return Recording(name, sound, text, _times(times, text) if times.exists() else None)


def _words_of(path: Location) -> Iterator[str]:
    for lines in text_files(path):
        for line in lines:
            yield from line.split()


def _times(path: Location, text: str) -> Any:
    rows: list[tuple[str, object, object]] = []
    for lines in text_files(path):
        for line in lines:
            if not line.strip():
                continue
            fields = line.split()
            if len(fields) != 3:
                raise CorpusError(
                    f"{lines.place}: a line is a word, its beginning and its end in seconds, and "
                    f"this has {len(fields)} fields; correct it."
                )
            rows.append((fields[0], fields[1], fields[2]))
    return checked_times(text, rows, storable(path))


def _read_table(lines: Lines, table: Location, column: str | None) -> Iterator[Recording]:
    for place, row in TABLES[lines.suffix](lines):
        text = row[text_column(column, list(row), place)]
        audio = row[_audio_column(list(row), place)]
        if not isinstance(text, str) or not text.strip() or not isinstance(audio, str):
            raise CorpusError(f"{place}: file and transcript must both be texts; complete the row.")
        demand_characters(text, place)
        triples = row.get(WORDS)
        times = None if triples is None else checked_times(text, _triples(triples, place), place)
        yield Recording(place, table.parent / audio, " ".join(text.split()), times)


def _audio_column(available: list[str], place: str) -> str:
    named = [name for name in AUDIO if name in available]
    if not named:
        raise CorpusError(
            f"{place}: no column names the file with the sound; call it audio. There are: "
            f"{', '.join(map(repr, available))}."
        )
    return named[0]


def _triples(value: object, place: str) -> list[tuple[str, object, object]]:
    rows: list[Any] = value if isinstance(value, list) else [None]
    if any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise CorpusError(f"{place}: words must be a list of [word, start, end]; correct it.")
    return [(str(word), start, end) for word, start, end in rows]
