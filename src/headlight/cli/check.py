"""The command `check`."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.options import Device, LoadOptions, Precision, Revision, Trust
from headlight.cli.printing import say, show
from headlight.files import printable

if TYPE_CHECKING:
    from headlight.capture import AttentionSite, NoResidualSite, ResidualSite

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
    residuals, difference = captured.residuals, captured.verify_batching()
    show(_sites_table(captured.name, residuals))
    if captured.quantisation:
        say(f"The weights in this file are quantised: {captured.quantisation}.")
    worst = max(site.error for site in captured.sites)
    say(
        f"{len(captured.sites)} attention modules; Eq. 3 (Kobayashi et al. 2020) holds to "
        f"{worst:.1e} of the output's norm."
    )
    if difference is not None:
        say(f"A text in a padded batch is read as it is alone, to {difference:.1e}.")
    for kind in captured.kinds:
        if numbers := captured.own_numbers(kind):
            here, own = (", ".join(map(str, each)) for each in (numbers, numbers.values()))
            say(f"Among its {kind} layers, {here} here are {own} of the model.")
    for sentence in _about_residuals(residuals.values()):
        say(sentence)


def _about_residuals(
    residuals: "Iterable[ResidualSite | NoResidualSite]",
) -> Iterator[str]:
    from headlight.capture import NoResidualSite

    errors = []
    for each in residuals:
        if isinstance(each, NoResidualSite):
            yield f"Measures of the whole layer cannot be had: {each.problem}"
        else:
            errors.append(each.error)
    if errors:
        yield (
            "With the residual, and norms frozen, the parts add up to what leaves the layer, to "
            f"{max(errors):.1e} of its norm."
        )


def _sites_table(
    name: str, residuals: "Mapping[AttentionSite, ResidualSite | NoResidualSite]"
) -> Any:
    from rich.table import Table
    from rich.text import Text

    from headlight.capture import NoResidualSite

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
    gated = any(site.gate for site in residuals)
    for heading in ("heads", *["gate"] * gated, "error", "layer"):
        table.add_column(heading, justify="right", no_wrap=True)
    for site, residual in residuals.items():
        texts = (f"{site.kind} {site.layer}", site.name, _beside(site.name, site.projection.name))
        shared = "" if site.kv_heads == site.heads else f"/{site.kv_heads}"
        heads = f"{site.heads}{shared}×{site.head_dim}"
        table.add_row(
            *(Text(printable(text)) for text in texts),
            *(Text(each) for each in (heads, *[site.gate or "–"] * gated)),
            f"{site.error:.0e}",
            "–" if isinstance(residual, NoResidualSite) else f"{residual.error:.0e}",
        )
    table.caption = (
        "heads: with the size of one; 9/3: of nine, three have values of their own; error: of "
        "Eq. 3; layer: of what leaves the layer, with residual and norm"
    )
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
