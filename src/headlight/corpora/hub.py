"""Data sets of a hub, or of a folder that the library datasets has written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight.errors import CorpusError, UsageError
from headlight.files import Location, location

PREFIX = "hf:"
FILE_READERS = ("arrow", "csv", "json", "parquet", "text")
"""Names that are no data set but a way of reading files; CONFIG then says which files."""

SAVED = ("state.json", "dataset_dict.json")  # what `save_to_disk` leaves in a folder


def saved_data_set(source: str | Location) -> Path | None:
    """Return the file that marks a folder of `save_to_disk`; None for all else."""
    place = location(source, error=CorpusError)
    if not isinstance(place, Path):
        return None
    markers = (place.expanduser() / name for name in SAVED)
    return next((marker for marker in markers if _exists(marker)), None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, forbidden, or a NUL
        return False


def data_set_name(folder: Path) -> str:
    """Return the source that stands for the folder of a data set."""
    return f"{PREFIX}{folder if folder.is_absolute() else f'./{folder}'}"


@dataclass(frozen=True, slots=True)
class HubSource:
    """Parts of ``hf:NAME:CONFIG:SPLIT:COLUMN``, told apart by their place.

    An empty part stands for its default, so ``hf:imdb::test`` is the test split of the only
    configuration.  NAME may be a folder, written with a slash (``hf:./folder``), or one of
    `FILE_READERS`, where CONFIG is a path or pattern: ``hf:parquet:data/*.parquet``.  A path with
    a colon in it cannot be written this way.
    """

    name: str
    config: str | None = None
    split: str | None = None
    column: str | None = None

    @classmethod
    def parse(cls, source: str, format: str | None = None) -> "HubSource":
        """Return the parts of a source that begins with ``hf:``.

        Args:
            source: Requested source.
            format: None, since a data set has a format of its own.

        Raises:
            UsageError: There is no name, there are too many parts or no files, or a slice or a
                format is requested.
        """
        if format is not None:
            raise UsageError(
                f"{source!r} has a format of its own; leave out the format {format!r}."
            )
        if "[" in source:
            raise UsageError(f"{source!r} asks for a slice of a split; name the whole split.")
        name, *rest = source.removeprefix(PREFIX).split(":")
        if not name or len(rest) > 3:
            raise UsageError(f"{source!r} must have the form hf:NAME[:CONFIG][:SPLIT][:COLUMN].")
        config, split, column = ([part or None for part in rest] + [None] * 3)[:3]
        if name in FILE_READERS and config is None:
            raise UsageError(f"{source!r} must name files: hf:{name}:FILES[:SPLIT][:COLUMN].")
        return cls(name, config, split, column)


def hub_rows(
    parts: HubSource, label: str, preferred: Sequence[str] = ("train",)
) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a split, streaming.

    Without SPLIT it is the first of `preferred` that there is, or the only one; no code that comes
    with a data set is ever run.

    Args:
        parts: Parts of the source.
        label: Name of the source in messages.
        preferred: Splits to prefer where none is named.

    Raises:
        CorpusError: The data set or the split does not exist, or cannot be read.
        UsageError: The library is not installed.
    """
    with _refusing(label):
        yield from _choose_split(_load(parts), parts.split, label, preferred)


def hub_splits(parts: HubSource, label: str) -> list[str]:
    """Return the names of the splits of a data set; empty for a single split that was saved.

    Args:
        parts: Parts of the source.
        label: Name of the source in messages.

    Raises:
        CorpusError: The data set does not exist, or cannot be read.
        UsageError: The library is not installed.
    """
    with _refusing(label):
        loaded = _load(parts)
        return list(loaded) if isinstance(loaded, dict) else []


def hub_revision(parts: HubSource, label: str) -> list[str]:
    """Return identifiers of the revision and files of a hub's data set, which change as it does.

    Args:
        parts: Parts of the source.
        label: Name of the source in messages.

    Raises:
        CorpusError: The data set does not exist, or its hub cannot be reached.
        UsageError: The library is not installed.
    """
    files = parts.config if parts.name in FILE_READERS else None
    with _refusing(label):
        builder = _library().load_dataset_builder(
            parts.name, None if files else parts.config, data_files=files
        )
        return [str(builder.hash), str(builder.config_id)]


@contextmanager
def _refusing(label: str) -> Iterator[None]:
    """Turn whatever the backends of the library raise into a refusal, with its first line."""
    try:
        yield
    except (CorpusError, UsageError):
        raise
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise CorpusError(
            f"{label} cannot be read: {reason} (the parts are NAME:CONFIG:SPLIT:COLUMN; "
            "leave one empty for its default)"
        ) from error


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise UsageError(
            "reading 'hf:' sources needs the datasets library; "
            "install it with: pip install datasets"
        ) from error
    return datasets


def _load(parts: HubSource) -> Any:
    datasets = _library()
    if parts.name.startswith((".", "/")) and not Path(parts.name).exists():
        raise CorpusError(f"there is no folder {parts.name}; check the path.")
    # `load_dataset` does not read what `save_to_disk` has written.
    if any((Path(parts.name) / marker).exists() for marker in SAVED):
        return datasets.load_from_disk(parts.name)
    if parts.name in FILE_READERS:
        return datasets.load_dataset(parts.name, data_files=parts.config, streaming=True)
    return datasets.load_dataset(parts.name, parts.config, streaming=True)


def _choose_split(
    loaded: Any, split: str | None, label: str, preferred: Sequence[str]
) -> Iterable[Mapping[str, object]]:
    if not isinstance(loaded, dict):  # a single split that was saved
        if split is not None:
            raise CorpusError(f"{label} is one split without a name; leave out {split!r}.")
        rows: Iterable[Mapping[str, object]] = loaded
        return rows
    only = next(iter(loaded)) if len(loaded) == 1 else preferred[0]
    wanted = split or next((name for name in preferred if name in loaded), only)
    if wanted not in loaded:
        raise CorpusError(
            f"{label} has no split {wanted!r}; name one of those there are: "
            f"{', '.join(map(repr, loaded))}."
        )
    chosen: Iterable[Mapping[str, object]] = loaded[wanted]
    return chosen
