"""Contributions of input tokens: results that are shared, their settings, notes and boxes."""

from collections.abc import Callable
from typing import Any

import xarray

from headlight.views.parts import By, Figure
from headlight.views.parts.box_plots import boxes_of
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import as_printed
from headlight_papers.papers.reproduction import Reproduction


def load_contributions(reproduction: Reproduction[Settings], pairs: PairSet) -> xarray.Dataset:
    """Load the contributions of input tokens on a set of sentence pairs; exact ones on some."""
    main = pairs == find_pair_set(reproduction)
    exact = reproduction.settings.exact_pairs if main else 0
    return reproduction.run(
        "attribution",
        pairs.pairs,
        max_length=pairs.length,
        reads=pairs.reads,
        name=f"contributions-{pairs.name}",
        exact=exact,
        **contribution_settings(reproduction),
    )


def contribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """Return the settings by which contributions are computed."""
    return {
        "kind": reproduction.model.kinds[0],
        "attribution": attribution_settings(reproduction),
        "seed": reproduction.settings.seed,
    }


def attribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """Return settings of an estimate from as many random directions as the settings say."""
    chosen = reproduction.settings
    return {"directions": chosen.directions, "seed": chosen.seed, "precision": "medium"}


def counterparts(result: xarray.Dataset) -> dict[int, int]:
    """Return the layers of BERT-base that are compared, and ours at the same depth; both from 1."""
    layers, paper = result.sizes["layer"], published.LAYERS
    return {theirs: max(1, round(theirs * layers / paper)) for theirs in (1, 6, paper)} | {1: 1}


def shown_layers(result: xarray.Dataset) -> list[int]:
    """Return the first, the middle and the last layer, zero-based."""
    return sorted({layer - 1 for layer in counterparts(result).values()})


def contribution_notes(
    reproduction: Reproduction, pairs: PairSet, result: xarray.Dataset
) -> list[str]:
    """Return notes on how model, data and method differ from the paper's."""
    read = pairs.note(int(result.attrs["examples"]), int(result.attrs["tokens"]))
    method = method_note(reproduction, result)
    return [model_note(reproduction), read, method, *agreement_notes(result)]


def method_note(reproduction: Reproduction[Settings], result: xarray.Dataset) -> str:
    """Return the note on how contributions were computed."""
    own_mean = float(result["own_mean"].sel(group="all").mean())
    error = float(result["own_estimate_error"].mean()) / own_mean
    return (
        "The size of a derivative is the Frobenius norm of the Jacobian of the hidden token by the "
        "input embedding; the paper does not say which norm it took. Contributions are estimated "
        f"from {reproduction.settings.directions} random directions for each input token: that of "
        f"one token to itself with a standard error of {100 * error:.1f}% on average. Products of "
        "matrices may be rounded to bfloat16."
    )


def agreement_notes(run: xarray.Dataset) -> list[str]:
    """Return notes on how near the estimate came to the exact contributions."""
    if not run.attrs["exact_examples"]:
        return []
    kinds = ("exact", "estimated")
    exact, estimate = (run[f"{kind}_own_box"].sel(mark="median") for kind in kinds)
    apart = float(abs(estimate - exact).max())
    shares = (run[f"{kind}_not_largest"].mean() for kind in kinds)
    largest, guessed = (f"{100 * float(share):.1f}%" for share in shares)
    return [
        f"On {run.attrs['exact_examples']} short examples contributions were computed exactly as "
        "well: the estimate of a single one is off by "
        f"{100 * float(run['exact_relative'].mean()):.1f}% on average, and correlates with it at "
        f"{float(run['exact_correlation'].min()):.3f} or more in every layer; medians of own "
        f"contributions are at most {100 * apart:.2f} percentage points apart, and tokens that are "
        f"not their largest contributor are {largest} exactly and {guessed} by the estimate."
    ]


def draw_boxes(marks: xarray.DataArray, box: By | str, **more: Any) -> Callable[[], Figure]:
    """Draw boxes of contributions on an axis from 0 to a little above the highest whisker."""
    top = min(1.0, 1.05 * float(marks.sel(mark="high").max()))
    printed, limits = as_printed(marks.to_dataset()), (0.0, top)
    return boxes_of(
        printed, "own_box", box, colour="attribution", percent=True, limits=limits, **more
    )
