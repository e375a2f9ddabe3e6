"""Texts from the outside, such as tokens, as they can be shown."""

from unicodedata import east_asian_width


def printable(text: str) -> str:
    """The text with what a terminal or a page would obey, such as escape codes, written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def shortened(text: str, most: int) -> str:
    """The printable text, cut to ``most`` columns; wide characters count as two."""
    shown = printable(text)
    if sum(map(_columns, shown)) <= most:
        return shown
    left, kept = most - 1, ""
    for character in shown:
        left -= _columns(character)
        if left < 0:
            break
        kept += character
    return kept + "…"


def _columns(character: str) -> int:
    return 2 if east_asian_width(character) in "WF" else 1
