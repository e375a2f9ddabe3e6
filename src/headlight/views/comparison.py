"""What a paper says and what was found, for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headlight.characters import printable
from headlight.views.exhibits import Exhibit


def comparison_table(exhibit: Exhibit) -> RenderableType:
    """The numbers of an exhibit: published, ours, and the difference."""
    heading = Text(printable(exhibit.title), style="bold")
    heading.append(f"  {printable(exhibit.source)}", style="dim")
    if not exhibit.comparisons:
        return heading
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("", overflow="fold")
    for name in ("published", "ours", "difference"):
        table.add_column(name, justify="right", overflow="fold")
    for comparison in exhibit.comparisons:
        published, ours, difference = (
            printable(text.replace("\u00a0", " ")) for text in comparison.texts
        )
        quantity = Text(printable(comparison.quantity))
        if comparison.note:
            quantity.append(f"\n  {printable(comparison.note)}", style="dim")
        table.add_row(quantity, Text(published), Text(ours, style="bold"), Text(difference))
    return Group(heading, table)
