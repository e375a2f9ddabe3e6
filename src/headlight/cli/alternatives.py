"""The command `alternatives`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.arguments import text_argument
from headlight.cli.help import examples
from headlight.cli.options import LOAD, LoadOptions, NumbersNetcdf, OneKind, Read, SecondText
from headlight.cli.printing import say, show
from headlight.cli.setting_options import takes_settings
from headlight.settings.alternatives import AlternativeSettings

if TYPE_CHECKING:
    from rich.table import Table

    from headlight.reading.alternatives import Alternatives

ALTERNATIVES_EXAMPLES = examples(
    'headlight alternatives "$(cat text.txt)" --layer 1 --head 0',
    'headlight alternatives "$(cat text.txt)" --layer 1 --head 0 --method farthest --queries 0,5',
)


@takes_settings(settings=AlternativeSettings)
def alternatives(
    text: Read,
    pair: SecondText = None,
    layer: Annotated[int, typer.Option(min=0, help="Which layer, from 0.")] = 0,
    head: Annotated[int, typer.Option(min=0, help="Which head, from 0.")] = 0,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many.")] = 1,
    netcdf: NumbersNetcdf = None,
    kind: OneKind = None,
    load: LoadOptions = LOAD,
    *,
    settings: AlternativeSettings,
) -> None:
    """Find other attention of one head with which the model gives the same output."""
    text = text_argument(text, "alternatives")
    pair = None if pair is None else text_argument(pair, "alternatives", "second text")
    load.check(layers=(layer,))
    from headlight.reading.alternatives import alternatives as find
    from headlight.result import save

    found = find(
        load.load(layers=(layer,)),
        text,
        pair,
        place=(layer, head),
        n=number,
        kind=kind,
        settings=settings,
    )
    if netcdf is not None:
        save(found.dataset, netcdf)
    show(_table(found))
    say(found)
    if netcdf is not None:
        say(f"written: {netcdf}")


def _table(found: "Alternatives") -> "Table":
    """One row per query that was looked at."""
    from rich.table import Table
    from rich.text import Text

    from headlight.findings import pieces_of

    dataset = found.dataset
    table = Table("query", "keys", "rank T", "rank [T, 1]", "moved")
    labels = [each.label for each in pieces_of(dataset, "query_token")]
    for row in dataset.isel(query=dataset["asked"].values)["query"].values:
        here = dataset.sel(query=row)
        moved = ", ".join(f"{value:.3f}" for value in here["total_variation"].values)
        numbers = (str(int(here[name])) for name in ("keys", "rank", "rank_with_ones"))
        token = Text(f"{row} {labels[int(row)]}")
        table.add_row(token, *numbers, moved if bool(here["exists"]) else "none")
    return table
