"""The command `check`."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.options import Device, LoadOptions, Precision, Revision, Trust
from headlight.cli.printing import say, show

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
    from headlight.views.terminal_table import terminal

    worst = max(site.error for site in captured.sites)
    say(f"Yes: {captured.name} can be read exactly (error {worst:.1e}).")
    show(terminal(_sites_table(residuals), len(residuals)))
    if captured.quantisation:
        say(f"The weights in this file are quantised: {captured.quantisation}.")
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


def _sites_table(residuals: "Mapping[AttentionSite, ResidualSite | NoResidualSite]") -> Any:
    """Return a row for each attention module."""
    import pandas as pd

    from headlight.capture import NoResidualSite
    from headlight.views.parts import Table

    rows = []
    for site, residual in residuals.items():
        shared = "" if site.kv_heads == site.heads else f"/{site.kv_heads}"
        rows.append(
            {
                "kind, layer": f"{site.kind} {site.layer}",
                "module": site.name,
                "W^O": _beside(site.name, site.projection.name),
                "heads": f"{site.heads}{shared}×{site.head_dim}",
                "gate": site.gate or "–",
                "error": f"{site.error:.0e}",
                "layer": "–" if isinstance(residual, NoResidualSite) else f"{residual.error:.0e}",
            }
        )
    caption = (
        "heads: with the size of one; 9/3: of nine, three have values of their own; error: of "
        "Eq. 3; layer: of what leaves the layer, with residual and norm"
    )
    frame = pd.DataFrame(rows)
    if any(site.gate for site in residuals):
        caption += "; gate: for each head, or each element of a head, before W^O"
    else:
        del frame["gate"]
    return Table("modules", "", frame, note=caption)


def _beside(module: str, projection: str) -> str:
    """The name of a projection, without what it shares with that of its attention module."""
    parts = projection.split(".")
    pairs = zip(parts, module.split("."), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    rest = ".".join(parts[len(list(same)) :])
    return f"….{rest}" if rest != projection else projection
