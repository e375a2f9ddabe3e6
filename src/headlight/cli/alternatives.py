"""The command `alternatives`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.arguments import load, printable
from headlight.cli.options import Device, KindOption, ModelName, Precision, Revision, Trust
from headlight.errors import UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from headlight.alternatives import Alternatives

ALTERNATIVES_EXAMPLES = """
[bold]Examples[/bold]

  headlight alternatives "$(cat text.txt)" --layer 1 --head 0

  headlight alternatives "$(cat text.txt)" --layer 1 --head 0 --method farthest --queries 0,5
"""


class Method(StrEnum):
    """How alternatives are found."""

    RANDOM = "random"
    FARTHEST = "farthest"


def alternatives(
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    pair: Annotated[
        str | None, typer.Argument(help="A second text: next segment, or the decoder's text.")
    ] = None,
    layer: Annotated[int, typer.Option(min=0, help="Which layer, from 0.")] = 0,
    head: Annotated[int, typer.Option(min=0, help="Which head, from 0.")] = 0,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many.")] = 1,
    method: Annotated[Method, typer.Option(help="A random direction, or far.")] = Method.RANDOM,
    distance: Annotated[float, typer.Option(help="Share of the way to the end.")] = 1.0,
    queries: Annotated[
        str | None, typer.Option(help="Positions of the rows that change, 0,5; by default all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the directions.")] = 0,
    netcdf: Annotated[Path | None, typer.Option(help="Write every number as NetCDF.")] = None,
    kind: KindOption = None,
    model: ModelName = None,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Find other attention of one head with which the model puts out the same."""
    from rich.console import Console

    from headlight.alternatives import AlternativeSettings, alternatives as find
    from headlight.result import save

    settings = AlternativeSettings(
        method=method.value, distance=distance, queries=_positions(queries), seed=seed
    )
    found = find(
        load(model, revision, device, dtype, trust_remote_code),
        text,
        pair,
        place=(layer, head),
        n=number,
        kind=kind.value if kind else None,
        settings=settings,
    )
    if netcdf is not None:
        save(found.dataset, netcdf)
    Console().print(_table(found))
    typer.echo(str(found))
    if netcdf is not None:
        typer.echo(f"written: {printable(netcdf)}")


def _positions(spec: str | None) -> tuple[int, ...] | None:
    """Positions such as ``0,5``.

    Raises:
        UsageError: something between the commas is no number.
    """
    if spec is None:
        return None
    parts = [part.strip() for part in spec.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"--queries {spec}: write positions with commas between them, as in 0,5.")
    return tuple(map(int, parts))


def _table(found: "Alternatives") -> "Table":
    """One row per query that was looked at."""
    from rich.markup import escape
    from rich.table import Table

    dataset = found.dataset
    table = Table("query", "keys", "rank T", "rank [T, 1]", "moved")
    for row in dataset.isel(query=dataset["asked"].values)["query"].values:
        here = dataset.sel(query=row)
        moved = ", ".join(f"{value:.3f}" for value in here["total_variation"].values)
        numbers = (str(int(here[name])) for name in ("keys", "rank", "rank_with_ones"))
        token = escape(f"{row} {here['query_token'].item()}")
        table.add_row(token, *numbers, moved if bool(here["exists"]) else "none")
    return table
