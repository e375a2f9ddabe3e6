"""Phrases of a sentence: numbers, counts, lists, and labels of categories, heads and layers."""

import json
from collections.abc import Iterable, Sequence

import xarray as xr

from headlight.result.kinds import MULTI_KIND
from headlight.vocabulary import CATEGORY_LABELS, head_name

_LABELS = {"all": "all tokens", **CATEGORY_LABELS, "sink": "sinks"}


def category_label(result: xr.Dataset, category: str, *, attending: bool = False) -> str:
    """Return the name of a token category in a text, e.g. ``[SEP]``.

    A result may bring its tokenizer's own names as JSON in the attribute ``category_names``, and in
    ``query_category_names`` those of the attending text, where that is another.

    Args:
        result: Result of any study.
        category: Category of tokens.
        attending: Whether the tokens attend, and are not attended to.
    """
    default = result.attrs.get("category_names", "{}")
    names = json.loads(result.attrs.get("query_category_names", default) if attending else default)
    return str(names.get(category, _LABELS.get(category, category)))


def unit_of_keys(result: xr.Dataset) -> str:
    """Return the unit of an attended position: ``token``, ``frame`` of sound, or ``position``."""
    if "pictures" in result.attrs:
        return "position"
    is_audio = "recordings" in result.attrs and result.attrs.get("kind") != "decoder"
    return "frame" if is_audio else "token"


def name_of(result: xr.Dataset, layer: int, head: int | None = None) -> str:
    """Return the name of a head or a layer, with its kind where a result shows several kinds."""
    name = f"layer {layer}" if head is None else head_name(layer, head)
    return f"{result.attrs['kind']} {name}" if MULTI_KIND in result.attrs else name


def percent(part: float) -> str:
    """Write a share as a percentage for a sentence: ``61%``, ``0.4%``, ``under 0.1%``."""
    value = 100 * part
    if 0 < value < 0.1:
        return "under 0.1%"
    return f"{value:.1f}%" if 0 < abs(value) < 1 else f"{value:.0f}%"


def layer_list(layers: Iterable[int]) -> str:
    """Write layers in words: ``layer 3``, ``layers 2, 4 and 6 to 9``."""
    runs: list[list[int]] = []
    for layer in layers:
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    if len(words) == 1:
        return f"layer{'s' if len(runs[0]) > 1 else ''} {words[0]}"
    return f"layers {listed(words)}"


def listed(parts: Sequence[str]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def plural(count: int, noun: str) -> str:
    """Write a number with its noun: ``1 text``, ``1,234 texts``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def measure_noun(measure: str) -> str:
    """Return a measure as a noun of what a head gives: its weight, its effective attention."""
    return "effective attention" if measure == "effective" else measure


def number(value: float) -> str:
    """Write a number with two significant digits: ``0.31``, ``−0.05``, ``0.0042``, ``12``."""
    return f"{value:.2g}".replace("-", "\u2212") if abs(value) < 10 else f"{value:,.0f}"


def seconds(value: float) -> str:
    """Write a time for a sentence: ``0.08 s``."""
    return f"{value:.2f} s"
