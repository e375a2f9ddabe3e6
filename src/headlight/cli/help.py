"""Help of commands: examples to copy, then arguments and options under their headings."""

import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand

from headlight.cli.printing import say, show

WIDTH = 76
"""Maximum width of an example, so that it fits into 80 columns with its margin."""
NAMES = 22
"""Width of the names of options; the explanation of a longer name begins on the next line."""
MARGIN = 2
VALUES = {"int": "N", "float": "X", "path": "PATH"}
"""Placeholders of values by the types that the parser reports; all others are TEXT."""
TYPE = re.compile(r"<(\w+)[^|>]*>")
ARGUMENTS, OPTIONS = "Arguments", "Options"


def examples(*rows: str | tuple[str, str]) -> str:
    """Return examples as the epilog of a command, in lines that a shell can run.

    Args:
        rows: Commands, or pairs of a command and a comment, which stands in a line above it.
    """
    pairs = [(row, "") if isinstance(row, str) else row for row in rows]
    blocks = ["\n".join(_lines(*pair)).replace("[", r"\[") for pair in pairs]
    return "\n\n".join(["[bold]Examples[/bold]", *blocks])


def _lines(command: str, comment: str) -> Iterator[str]:
    if comment:
        yield f"# {comment}"
    # Lines break before an option only: never inside quotation marks, nor before its value.
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
    """Command whose help begins with examples, and leaves most of the width to explanations."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print usage, summary, examples, arguments and options."""
        from rich import get_console
        from rich.padding import Padding
        from rich.text import Text

        # This console only wraps lines; it keeps the width of its first use, so width is passed.
        console = get_console()
        width = max(shutil.get_terminal_size().columns - MARGIN, NAMES * 2)
        paragraphs = (self.help or "").split("\n\n")
        above = [Text.from_markup(" ".join(text.split())) for text in paragraphs if text]
        below = [Text.from_markup("\n".join(self.epilog.split("\n\n")))] if self.epilog else []
        for text in (Text(self.get_usage(ctx)), *above, *below):
            show(Padding(text, (1, 0, 0, MARGIN - 1)))
        for panel, parameters in self._panels(ctx).items():
            show(Padding(Text(panel, style="bold"), (1, 0, 0, MARGIN - 1)))
            for line in _rows(parameters, ctx, console, width):
                show(line, soft_wrap=True)
        say("")

    def _panels(self, ctx: Any) -> dict[str, list[Any]]:
        """Return visible arguments and options by their headings, arguments first."""
        panels: dict[str, list[Any]] = {ARGUMENTS: [], OPTIONS: []}
        for parameter in self.get_params(ctx):
            if not getattr(parameter, "hidden", False):
                default = OPTIONS if parameter.param_type_name == "option" else ARGUMENTS
                panel = getattr(parameter, "rich_help_panel", None) or default
                panels.setdefault(panel, []).append(parameter)
        return {panel: parameters for panel, parameters in panels.items() if parameters}


def _rows(parameters: Iterable[Any], ctx: Any, console: Any, width: int) -> Iterator[Any]:
    """Yield the lines of names and explanations; what the parser adds is dimmed."""
    from rich.text import Text

    for parameter in parameters:
        record, explanation = parameter.get_help_record(ctx)
        name = TYPE.sub(lambda match: VALUES.get(match[1], "TEXT"), record)
        plain = parameter.help or ""
        words = Text.from_markup(plain)
        words.append(explanation[len(plain) :], style="dim")
        lines: list[Any] = list(words.wrap(console, width - NAMES - 2 * MARGIN))
        beside = len(name) <= NAMES
        for at, line in enumerate(lines if beside else ["", *lines]):
            label = name if at == 0 else ""
            yield Text.assemble(" " * MARGIN, (label.ljust(NAMES), "cyan"), " " * MARGIN, line)
