"""Examples below the help of a command, which can be copied into a terminal as they stand."""

from collections.abc import Iterator

WIDTH = 76
"""Columns of a line: help is drawn with a margin, and a terminal may have 80."""


def examples(*rows: str | tuple[str, str]) -> str:
    """The examples as the help of a command takes them.

    A comment stands in a line of its own above its command, and a long command is continued at an
    option, as a shell reads it.
    """
    shown = ["\n".join(_lines(*((row, "") if isinstance(row, str) else row))) for row in rows]
    return "\n\n".join(["[bold]Examples[/bold]", *(each.replace("[", r"\[") for each in shown)])


def _lines(command: str, comment: str) -> Iterator[str]:
    if comment:
        yield f"# {comment}"
    # Blanks within quotation marks, and before the value of an option, are no place to break.
    words = command.replace(" -", "\n-").split("\n")
    line = words[0]
    for word in words[1:]:
        if len(line) + len(word) + 3 > WIDTH:
            yield f"{line} \\"
            line = f"    {word}"
        else:
            line = f"{line} {word}"
    yield line
