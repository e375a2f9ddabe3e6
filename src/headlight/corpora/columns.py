"""Which column of a table holds the text."""

from collections.abc import Sequence

from headlight.errors import CorpusError

DEFAULT = "text"


def text_column(column: str | None, available: Sequence[str], place: str) -> str:
    """The column asked for; else ``text``; else the only one there is.

    Raises:
        CorpusError: There is no such column, or it cannot be told which one is meant.
    """
    if column is None and DEFAULT not in available and len(available) == 1:
        return available[0]
    wanted = column if column is not None else DEFAULT
    if wanted not in available:
        names = ", ".join(map(repr, available)) or "none"
        raise CorpusError(
            f"{place}: there is no column {wanted!r}; name one of those there are: {names}."
        )
    return wanted
