"""Help of commands: examples that can be copied first, then options under their headings."""

import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand

from headlight.cli.printing import say, show

WIDTH = 76
"""Columns of an example: help has a margin, and a terminal may have 80."""
NAMES = 22
"""Columns of the names of options; the explanation of a longer one begins on the next line."""
MARGIN = 2
VALUES = {"int": "N", "float": "X", "path": "PATH"}
"""Names of values by the types that a parser reports; others are text."""
TYPE = re.compile(r"<(\w+)[^|>]*>")
ARGUMENTS, OPTIONS = "Arguments", "Options"


def examples(*rows: str | tuple[str, str]) -> str:
    """Return examples as the epilog of a command.

    A comment stands in a line of its own above its command, and a long command is continued at an
    option, as a shell reads it.
    """
    rendered = ["\n".join(_lines(*((row, "") if isinstance(row, str) else row))) for row in rows]
    return "\n\n".join(["[bold]Examples[/bold]", *(each.replace("[", r"\[") for each in rendered)])


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


class HelpfulCommand(TyperCommand):
    """A command whose help begins with examples, and gives explanations most of the width."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print usage, summary, examples, arguments and options."""
        from rich import get_console
        from rich.padding import Padding
        from rich.text import Text

        console = get_console()  # which lays out; its width is that of the first time
        width = max(shutil.get_terminal_size().columns - MARGIN, NAMES * 2)
        paragraphs = (self.help or "").split("\n\n")
        above = [Text.from_markup(" ".join(each.split())) for each in paragraphs if each]
        # A block of examples, in which no line is empty.
        below = [Text.from_markup("\n".join(self.epilog.split("\n\n")))] if self.epilog else []
        for text in (Text(self.get_usage(ctx)), *above, *below):
            show(Padding(text, (1, 0, 0, MARGIN - 1)))
        for panel, parameters in self._panels(ctx).items():
            show(Padding(Text(panel, style="bold"), (1, 0, 0, MARGIN - 1)))
            for line in _rows(parameters, ctx, console, width):
                show(line, soft_wrap=True)
        say("")

    def _panels(self, ctx: Any) -> dict[str, list[Any]]:
        """Return what can be given by the heading it stands under, arguments first."""
        panels: dict[str, list[Any]] = {ARGUMENTS: [], OPTIONS: []}
        for each in self.get_params(ctx):
            if not getattr(each, "hidden", False):
                default = OPTIONS if each.param_type_name == "option" else ARGUMENTS
                panel = getattr(each, "rich_help_panel", None) or default
                panels.setdefault(panel, []).append(each)
        return {panel: parameters for panel, parameters in panels.items() if parameters}


def _rows(parameters: Iterable[Any], ctx: Any, console: Any, width: int) -> Iterator[Any]:
    """Yield the lines of names and explanations."""
    from rich.text import Text

    for each in parameters:
        record, explanation = each.get_help_record(ctx)
        name = TYPE.sub(lambda match: VALUES.get(match[1], "TEXT"), record)
        plain = each.help or ""
        words = Text.from_markup(plain)
        words.append(explanation[len(plain) :], style="dim")
        lines: list[Any] = list(words.wrap(console, width - NAMES - 2 * MARGIN))
        beside = len(name) <= NAMES
        for at, line in enumerate(lines if beside else ["", *lines]):
            label = name if at == 0 else ""
            yield Text.assemble(" " * MARGIN, (label.ljust(NAMES), "cyan"), " " * MARGIN, line)
