"""Texts from the outside, such as tokens and names of files, as they can be shown and stored."""


def printable(text: str) -> str:
    """The text with what a terminal or a page would obey, such as escape codes, written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def storable(text: object) -> str:
    """Text that can be stored, whatever bytes the names of files hold."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
