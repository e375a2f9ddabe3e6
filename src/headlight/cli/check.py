"""The command `check`."""

import itertools
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.examples import examples
from headlight.cli.options import Device, LoadOptions, Precision, Revision, Trust
from headlight.cli.printing import say, show
from headlight.files import printable

if TYPE_CHECKING:
    from headlight.capture import AttentionSite

CHECK_EXAMPLES = examples(
    "headlight check bert-base-uncased",
    "headlight check ./my-checkpoint --dtype bfloat16",
)


def check(
    model: Annotated[
        str | None,
        typer.Argument(help="Name on the hub, folder or GGUF file. Default: the embedded model."),
    ] = None,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Say whether the attention of a model can be captured exactly, module by module."""
    captured = LoadOptions(
        model=model,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    ).load()
    show(_sites_table(captured.name, captured.sites))
    if captured.quantisation:
        say(f"The weights in this file are quantised: {captured.quantisation}.")
    worst = max(site.error for site in captured.sites)
    say(
        f"{len(captured.sites)} attention modules; Eq. 3 (Kobayashi et al. 2020) holds to "
        f"{worst:.1e} of the output's norm."
    )


def _sites_table(name: str, sites: "list[AttentionSite]") -> Any:
    from rich.table import Table
    from rich.text import Text

    # One blank between columns leaves room for the names of BERT's modules in eighty of them.
    table = Table(
        title=Text(printable(name)),
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("kind, layer", no_wrap=True)
    for heading in ("module", "W^O"):
        table.add_column(heading, overflow="fold")
    gated = any(site.gate for site in sites)
    for heading in ("heads", "kv", "dim", *["gate"] * gated, "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    for site in sites:
        texts = (f"{site.kind} {site.layer}", site.name, _beside(site.name, site.projection.name))
        numbers = (site.heads, site.kv_heads, site.head_dim, *[site.gate or "–"] * gated)
        table.add_row(
            *(Text(printable(text)) for text in texts), *map(str, numbers), f"{site.error:.0e}"
        )
    table.caption = "kv: heads with values of their own; dim: size of a head; error: of Eq. 3"
    if gated:
        table.caption += "; gate: for each head, or each element of a head, before W^O"
    return table


def _beside(module: str, projection: str) -> str:
    """The name of a projection, without what it shares with that of its attention module."""
    parts = projection.split(".")
    pairs = zip(parts, module.split("."), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    rest = ".".join(parts[len(list(same)) :])
    return f"….{rest}" if rest != projection else projection
