"""The command `check`."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.model_options import Device, LoadOptions, Precision, Revision, Trust
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
    """Check that the attention of a model can be captured exactly, module by module."""
    captured = (
        LoadOptions(
            model=model,
            revision=revision,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
        )
        .load()
        .reader()
    )
    from headlight.engine.progress import announced
    from headlight.views.terminal import terminal

    with announced(f"following every attention module of {captured}"):
        residuals, difference = captured.residuals, captured.verify_batching()

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
            here = ", ".join(map(str, numbers))
            in_model = ", ".join(map(str, numbers.values()))
            say(f"Among its {kind} layers, {here} here are {in_model} of the model.")
    for sentence in _about_residuals(residuals.values()):
        say(sentence)


def _about_residuals(
    residuals: "Iterable[ResidualSite | NoResidualSite]",
) -> Iterator[str]:
    from headlight.capture import NoResidualSite

    errors = []
    for residual in residuals:
        if isinstance(residual, NoResidualSite):
            yield f"Measures of the whole layer cannot be had: {residual.problem}"
        else:
            errors.append(residual.error)
    if errors:
        yield (
            "With the residual, and norms frozen, the parts add up to what leaves the layer, to "
            f"{max(errors):.1e} of its norm."
        )


def _sites_table(residuals: "Mapping[AttentionSite, ResidualSite | NoResidualSite]") -> Any:
    """Return a table with a row for all modules that are alike, and the largest of their errors."""
    import pandas as pd

    from headlight.capture import NoResidualSite
    from headlight.views.parts import Table

    rows: list[dict[str, Any]] = []
    groups: dict[tuple[str, ...], list[tuple[AttentionSite, NoResidualSite | ResidualSite]]] = {}
    for site, residual in residuals.items():
        groups.setdefault(_likeness(site, residual), []).append((site, residual))
    for group in groups.values():
        (first, residual), (last, _) = group[0], group[-1]
        shared = "" if first.kv_heads == first.heads else f"/{first.kv_heads}"
        errors = [site.error for _, site in group if not isinstance(site, NoResidualSite)]
        rows.append(
            {
                "kind, layer": f"{first.kind} {_numbers([site.layer for site, _ in group])}",
                "module": _between(first.name, last.name),
                "W^O": _beside(first.name, first.projection.name),
                "heads": f"{first.heads}{shared}×{first.head_dim}",
                "gate": first.gate or "–",
                "error": f"{max(site.error for site, _ in group):.0e}",
                "layer": f"{max(errors):.0e}" if errors else "–",
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


def _likeness(site: "AttentionSite", residual: "ResidualSite | NoResidualSite") -> tuple[str, ...]:
    sizes = (site.heads, site.kv_heads, site.head_dim, site.gate, hasattr(residual, "error"))
    name, projection = re.sub(r"\d+", "#", site.name), _beside(site.name, site.projection.name)
    return (site.kind, name, re.sub(r"\d+", "#", projection), *map(str, sizes))


def _numbers(layers: list[int]) -> str:
    """Return numbers of layers in few characters, such as ``0–5`` or ``0, 2, 4``."""
    first, last = layers[0], layers[-1]
    if len(layers) > 1 and layers == list(range(first, last + 1)):
        return f"{first}–{last}"
    return ", ".join(map(str, layers))


def _between(first: str, last: str) -> str:
    # Modules of one group differ in numbers alone: layer.0.attention and layer.5.attention.
    pairs = zip(first.split("."), last.split("."), strict=True)
    return ".".join(part if part == other else "*" for part, other in pairs)


def _beside(module: str, projection: str) -> str:
    """Return the name of a projection without the beginning that it shares with its module."""
    parts = projection.split(".")
    pairs = zip(parts, module.split("."), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    rest = ".".join(parts[len(list(same)) :])
    return f"…{rest}" if rest != projection else projection
