"""The command `routes`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.arguments import command_line, demand_place, text_argument
from headlight.cli.help import examples
from headlight.cli.options import LOAD, LoadOptions, NextSegment, OneKind, Read
from headlight.cli.printing import say, show
from headlight.cli.setting_options import takes_settings
from headlight.vocabulary import ROUTE

if TYPE_CHECKING:
    from rich.table import Table

    from headlight.reading.routes import Routes

ROUTES_EXAMPLES = examples(
    'headlight routes "Mary met John, and later Mary met" --model gpt2 --html routes.html',
    ('headlight routes "The cat sat." --token 2 --layer 3 --least 0.1', "one token, one layer"),
    'headlight routes "The cat sat." --svg routes.svg --json routes.json',
)

MOST = 20
"""Links that the terminal shows."""


@takes_settings()
def routes(
    text: Read,
    pair: NextSegment = None,
    kind: OneKind = None,
    token: Annotated[
        int, typer.Option(help="The token whose routes are shown, from 0, or from -1 backwards.")
    ] = -1,
    layer: Annotated[
        int | None, typer.Option(min=0, help="After which layer, from 0. Default: the last.")
    ] = None,
    least: Annotated[
        float, typer.Option(min=0, max=1, help="The share that a part makes up at least.")
    ] = ROUTE,
    html: Annotated[
        Path | None, typer.Option(help="Write a page on which the routes are drawn.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the routes as a picture.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write all shares as JSON.")] = None,
    netcdf: Annotated[Path | None, typer.Option(help="Write all shares as NetCDF.")] = None,
    load: LoadOptions = LOAD,
) -> None:
    """Follow a token back to the input: by which heads, and from which tokens, it is made."""
    places = ((html, ".html"), (svg, ".svg"), (json, ".json"), (netcdf, ".nc"))
    for path, suffix in places:
        demand_place(path, suffix)
    text = text_argument(text, "routes")
    pair = None if pair is None else text_argument(pair, "routes", "second text")
    load.check(layers=None if layer is None else (layer,))
    from headlight.reading.routes import routes as follow

    model = load.load(layers=None if layer is None else (layer,))
    found = follow(model, text, pair, kind=kind, command=command_line())
    place = found.place_of(token)
    # Files before the terminal, which may be a pipe that closes early.
    written = [
        found.save(path, token=token, layer=layer, least=least)
        for path, _ in places
        if path is not None
    ]
    show(_table(found, place, layer, least))
    for path in written:
        say(f"written: {path}")


def _table(found: "Routes", token: int, layer: int | None, least: float) -> "Table":
    """The largest links between tokens on the way to one, from the highest layer down."""
    from rich.table import Table
    from rich.text import Text

    from headlight.findings import token_labels
    from headlight.findings.ways import ways_to
    from headlight.vocabulary import head_name

    routes = found.dataset
    labels = token_labels(routes, "query")
    ways = ways_to(routes, token, layer, least=least)
    after = int(routes["layer"].values[-1]) if layer is None else layer
    first = int(routes["layer"].values[0])
    ends = sorted({way.source for way in ways if way.layer == first})
    links = [way for way in ways if way.heads and way.source != way.token]
    largest = sorted(links, key=lambda way: -way.share)[:MOST]
    title = (
        f"{labels[token]}, after layer {after}, is made of {len(ends)} of {len(labels)} tokens of "
        f"the input by parts of at least {least:.1%}: {', '.join(labels[end] for end in ends)}. "
        f"{len(links)} links between tokens, of which the largest are:"
    )
    table = Table("layer", "token", "takes from", "share", "by", title=Text(title))
    table.title_justify = "left"
    for way in sorted(largest, key=lambda way: (-way.layer, way.token, way.source)):
        largest_heads = way.heads[:3]
        named = ", ".join(f"{head_name(way.layer, at)} {part:.1%}" for at, part in largest_heads)
        more = f", {len(way.heads) - 3} more" if len(way.heads) > 3 else ""
        cells = Text(labels[way.token]), Text(labels[way.source]), f"{way.share:.1%}"
        table.add_row(str(way.layer), *cells, named + more)
    return table
