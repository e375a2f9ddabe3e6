"""Places of a text at which weight and norm are furthest apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.findings import token_labels
from headlight.findings.candidates import APART, largest_said, last_word, unknown, unsaid
from headlight.result.kinds import split_kinds
from headlight.views.number_formats import whole_percent
from headlight.vocabulary import PER_HEAD, head_name, measure_table

_KIND_NAMES = {"encoder": "in the encoder", "decoder": "in the decoder", "cross": "cross-attention"}

Shares = Float[np.ndarray, "head query key"]


def shares_of_layer(part: xr.Dataset, name: str, layer: int) -> Shares:
    """Return a measure of a layer, by its place, as shares of rows."""
    return _shares(part[name].isel(layer=layer).transpose(*PER_HEAD[1:]).values)


def _shares(values: NDArray[Any]) -> Shares:
    sizes = np.where(np.isfinite(values), np.maximum(values, 0), np.nan)
    whole = np.nansum(sizes, axis=-1, keepdims=True)
    return np.asarray(sizes / np.where(whole > 0, whole, np.nan), dtype=np.float64)


Place = tuple[int, int]


def most_misleading(part: xr.Dataset) -> tuple[Place, Place]:
    """Return the head and cell where the norm of the last word differs most from its weight.

    In generated text, the row that predicted the first token takes the place of the last word.
    The head is that of the largest sum of differences of shares; the key that of its largest
    difference but for keys that are hidden at first.  Of weights alone the head is that in which
    the last word gives most to another word; without weights it is the first, and its largest cell.
    """
    if "weight" not in part:
        row = next(row for row in measure_table() if row.name in part and row.pairwise)
        first = part[row.name].isel(dict.fromkeys(row.axes[:-2], 0))
        return (0, 0), largest_cell(first.transpose("query", "key").values)
    query = 0 if "query_next" in part else last_word(part)
    gaps = np.stack([_gap(part, layer)[:, query] for layer in range(part.sizes["layer"])])
    if "norm" not in part:
        own = [] if part.attrs.get("kind") == "cross" else [int(part["query"].values[query])]
        others = np.delete(gaps, sorted({*unsaid(part, "key"), *own}), -1)
        far = np.nan_to_num(others).max(-1, initial=0)
    else:
        far = np.nansum(np.abs(gaps), -1)
    layer, head = (int(at) for at in np.unravel_index(int(np.argmax(far)), far.shape))
    row = gaps[layer, head].copy()
    hidden = unsaid(part, "key")
    if len(hidden) < len(row):
        row[hidden] = 0
    return (layer, head), (query, largest_cell(row[None])[1])


def opening_sentence(reading: xr.Dataset) -> str:
    """Return the sentence that the page of a reading opens with; empty without weights.

    It says what the last word looks at in the head where weight and norm are furthest apart, and
    what it takes; of a translator, in its cross-attention.

    Args:
        reading: Reading of one kind of attention, or of several.
    """
    kinds = split_kinds(reading)
    kind = "cross" if "cross" in kinds else next(iter(kinds))
    part = kinds[kind]
    if "weight" not in part:
        return ""
    (layer, head), (query, _) = most_misleading(part)
    who = f"“{token_labels(part, 'query')[query]}”"
    if query in unknown(part, "query_token"):
        return (
            f"{who} is unknown to the tokenizer, and looks to the model like all other such tokens."
        )
    own = -1 if kind == "cross" else int(part["query"].values[query])
    if kind == "decoder" and own == 0:
        return f"{who} is the first token: it sees nothing but itself."
    name = head_name(int(part["layer"].values[layer]), int(part["head"].values[head]))
    where = f"{name} ({_KIND_NAMES[kind]})" if len(kinds) > 1 else name
    unknown_keys = unknown(part, "key_token")
    names = [
        "itself" if at == own else "an unknown token" if at in unknown_keys else f"“{label}”"
        for at, label in enumerate(token_labels(part, "key"))
    ]
    weight = np.nan_to_num(shares_of_layer(part, "weight", layer)[head, query])
    top = int(np.argmax(weight))
    looks = f"In {where}, {who} looks at {names[top]} ({whole_percent(weight[top])}% of the weight)"
    if "norm" not in part:
        return f"{looks}."
    norm = np.nan_to_num(shares_of_layer(part, "norm", layer)[head, query])
    sources = largest_said(norm, [top, own, *unsaid(part, "key")])[:1]
    sources += [own] if own not in (-1, top) else []
    shares = [
        f"{whole_percent(norm[at])}% {'' if rank else 'comes '}from {names[at]}"
        for rank, at in enumerate(at for at in sources if norm[at] >= APART)
    ]
    taken = _taken(float(weight[top]), float(norm[top]))
    return f"{looks} {taken}{'; ' if shares else ''}{' and '.join(shares)}."


def _taken(weight: float, norm: float) -> str:
    """Return how much is taken from the token that gets most."""
    taken = f"{whole_percent(norm)}% of the norm"
    if norm - weight <= -APART:
        return f"but takes only {taken} from it"
    return f"and takes {'even more' if norm - weight >= APART else 'about as much'}: {taken}"


def apart_numbers(part: xr.Dataset, heads: Sequence[int]) -> list[dict[str, Any]]:
    """Return, as a statistic, the mean distance of weight and norm of each head over tokens.

    It is half the sum of differences of shares, 0 where both are the same and 1 where they have
    nothing in common; the first token of a decoder, which has no choice, is left out.
    """
    if not {"weight", "norm"} <= set(part):
        return []
    alone = part.attrs.get("kind") == "decoder" and int(part["query"].values[0]) == 0
    choice = slice(1 if alone and part.sizes["query"] > 1 else 0, None)
    numbers: list[float | None] = []
    for layer, number in enumerate(heads):
        rows = np.abs(_gap(part, layer)[:number, choice]).sum(-1) / 2
        known = np.isfinite(rows)
        means = np.where(known, rows, 0).sum(-1) / np.maximum(known.sum(-1), 1)
        numbers += [float(f"{mean:.4g}") for mean in means.tolist()]
    label = "how far weight and norm are apart"
    by = {name: [numbers] for name in ("weight", "norm")}
    return [{"name": "apart", "label": label, "unit": "share", "help": "", "by": by}]


def _gap(part: xr.Dataset, layer: int) -> Shares:
    weight = shares_of_layer(part, "weight", layer)
    return weight - shares_of_layer(part, "norm", layer) if "norm" in part else weight


def largest_cell(values: NDArray[Any]) -> Place:
    """Return query and key of the largest size."""
    sizes = np.nan_to_num(np.abs(values))
    query, key = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    return int(query), int(key)
