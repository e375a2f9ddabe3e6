"""The command `read`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from headlight.cli.arguments import (
    attribution_settings,
    command_line,
    layer_numbers,
    load,
    printable,
)
from headlight.cli.options import (
    BiasOption,
    Device,
    Exact,
    KindOption,
    Layers,
    Measure,
    ModelName,
    Precision,
    Probes,
    Revision,
    Trust,
    ValueBias,
)
from headlight.errors import UsageError

STANDARD_INPUT = "-"

SLOW_PAGE = 4_000_000
"""Numbers above which a browser takes its time over a page."""

READ_EXAMPLES = """
[bold]Examples[/bold]

  headlight read "The cat sat on the mat."

  headlight read "The cat sat." "It purred." --measure norm --html cat.html

  headlight read "The cat sat." --model gpt2 --json cat.json

  headlight read "The cat sat." --measure attribution  [dim]what input tokens contribute[/dim]

  echo "The cat sat." | headlight read -
"""


def read(
    text: Annotated[str, typer.Argument(help="What the model reads; - for standard input.")],
    pair: Annotated[
        str | None, typer.Argument(help="A second text: next segment, or the decoder's text.")
    ] = None,
    model: ModelName = None,
    measure: Annotated[Measure, typer.Option(help="What the terminal shows.")] = Measure.NORM,
    top: Annotated[int, typer.Option(min=1, help="Links shown per head.")] = 3,
    html: Annotated[Path | None, typer.Option(help="Write a page of heat maps.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every number as JSON.")] = None,
    netcdf: Annotated[Path | None, typer.Option(help="Write every number as NetCDF.")] = None,
    kind: KindOption = None,
    layers: Layers = None,
    value_bias: BiasOption = ValueBias.INCLUDE,
    exact: Exact = False,
    probes: Probes = None,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Read one text, or two, and show the strongest links of every head."""
    for path, suffix in ((html, ".html"), (json, ".json"), (netcdf, ".nc")):
        _demand_place(path, suffix)
    chosen = layer_numbers(layers)
    attribution = attribution_settings(
        wanted=measure is Measure.ATTRIBUTION, exact=exact, probes=probes
    )
    text = _text(text)

    from rich.console import Console

    from headlight.reading import read as read_text

    captured = load(model, revision, device, dtype, trust_remote_code)
    reading = read_text(
        captured,
        text,
        pair,
        kind=kind.value if kind else None,
        layers=chosen,
        value_bias=value_bias.value,
        attribution=attribution or False,
        command=command_line(),
    )
    from headlight.views import reading_terminal

    # Files before the terminal, which may be a pipe that closes early.
    written = [reading.save(path) for path in (html, json, netcdf) if path is not None]
    Console().print(reading_terminal(reading.dataset, measure=measure.value, top=top))
    for path in written:
        typer.echo(f"written: {printable(path)}")
    numbers = sum(variable.size for variable in reading.dataset.data_vars.values())
    if html is not None and numbers > SLOW_PAGE:
        typer.echo(
            f"note: {printable(html)} holds {numbers / 1e6:.0f} million numbers and is slow to "
            "open; choose some with --layers.",
            err=True,
        )


def _text(argument: str) -> str:
    """What to read: the argument, or standard input for ``-``.

    Raises:
        UsageError: there is no text in it, or it is not UTF-8.
    """
    text = argument
    if argument == STANDARD_INPUT:
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as problem:
            raise UsageError("standard input is not UTF-8; convert it first.") from problem
    if not text.strip():
        raise UsageError("there is no text to read; write at least one word.")
    return text.strip()


def _demand_place(path: Path | None, suffix: str) -> None:
    """Complain before the work about a file that could not be written after it."""
    if path is None:
        return
    if path.suffix != suffix:
        raise UsageError(f"{path}: the name of this file must end in {suffix}.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")
