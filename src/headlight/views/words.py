"""Texts from the outside, such as tokens, in the room there is."""

from unicodedata import east_asian_width

from headlight.characters import printable


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
