"""The rules by which the paper's conclusions hold, wherever they are shown."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import xarray

from headlight.findings.estimates import estimates
from headlight.findings.thresholds import FAR_BELOW, IDENTIFIED, MOST, UNCHANGED
from headlight.findings.what_was_read import independent_units
from headlight_papers.papers.answers import all_of, around, largest, mean_of, within
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.claims import Claim

SEP = {"query_category": "all", "key_category": "sep"}
"""Labels of what all tokens together give to [SEP]."""


def not_identifiable(tried: xarray.Dataset) -> Claim:
    """Judge Section 3.3: other distributions give the same output."""
    # Rounding is measured by putting the model's own attention in its own place.
    most, rounding = float(tried["difference"].max()), float(tried["rounding"].max())
    moved = float(tried["most"].max())
    return Claim(
        "1. Other attention has the same output",
        f"alternatives change outputs by at most {UNCHANGED:g} times what rounding does",
        "proven (Section 3.3)",
        f"change {most:.0e}, rounding {rounding:.0e}; {100 * moved:.0f}% of a row moved",
        all_of(within(most - UNCHANGED * rounding, most=0), within(moved, above=0)),
    )


def less_correlated(lengths: xarray.Dataset) -> Claim:
    """Judge Section 3.5, Figure 1a: the longer the text, the less attention is effective."""
    name = "effective_correlation"
    by_length = estimates(lengths, name, ("length",))
    short, long = by_length.at(0), by_length.at(-1)
    width = int(lengths["head_dim"].max())
    # Below d_v keys T has full rank as a rule, and effective attention is the raw one.
    below = lengths[name].where(lengths["keys_mean"] < width, drop=True).values
    return Claim(
        "2. Long texts: raw is not effective attention",
        f"correlation 1 below d_v = {width} tokens, and lower in the longest texts",
        f"1 below {published.HEAD_DIM} tokens, then falling (Section 3.5)",
        f"{short:.3f} in the shortest, {long:.3f} in the longest",
        all_of(
            # A correlation of equal maps is 1 but for rounding.
            *(within(float(correlation), above=1 - 1e-6) for correlation in below),
            within(short.minus(long), above=1e-3),
        ),
    )


def peak_vanishes(
    survey: xarray.Dataset, name: str = "share", token: Mapping[str, str] = SEP
) -> Claim:
    """Judge Section 3.5, Figures 1b, 1c and 5: much of the attention to [SEP] moves nothing.

    Args:
        survey: Survey of any model.
        name: Variable with the shares.
        token: Labels of the token in that variable that receives much attention.
    """
    shares = (
        estimates(survey, name, ("layer", "head"), **{**token, "measure": measure})
        for measure in ("weight", "effective")
    )
    # The layer was chosen as the largest, so that its interval allows for that.
    raw, effective = (largest(share.mean(1), independent_units(survey)) for share in shares)
    return Claim(
        "3. The peak of [SEP] is not effective",
        f"largest mean of a layer at most {FAR_BELOW} times as large in effective attention",
        "it disappears",
        f"raw {raw:.1%}, effective {effective:.1%}",
        within(effective.minus(raw.times(FAR_BELOW)), most=0),
    )


def keeps_identity(rates: xarray.DataArray) -> Claim:
    """Judge Section 4.2, Figure 2a, from the rates of linear maps by loss, layer and split."""
    last = mean_of(rates.sel(loss="cosine").isel(layer=-1).values)
    return Claim(
        "4. Tokens keep their identity",
        f"linear maps find at least {100 * IDENTIFIED:.0f}% in the last layer (cosine)",
        f"{published.LINEAR_COSINE_LAST:g}% (Section 4.1)",
        f"{last:.1%}",
        within(last, least=IDENTIFIED),
    )


def in_the_angle(rates: xarray.DataArray) -> Claim:
    """Judge Section 4.2: cosine distance is more effective than L2.

    Args:
        rates: Rates of linear maps of the last layer, by loss and split.
    """
    cosine, square = (100 * float(rates.sel(loss=loss).mean()) for loss in ("cosine", "l2"))
    # Splits are paired: both losses are tried on the same sequences.
    gain = mean_of(100 * (rates.sel(loss="cosine") - rates.sel(loss="l2")).values)
    return Claim(
        "5. Identity is in the angle",
        "cosine finds more than L2 in the last layer (linear), over random splits",
        "cosine more than L2",
        f"cosine {cosine:.2f}%, L2 {square:.2f}%; more by {gain:.2f}",
        within(gain, above=0),
    )


def easier_downwards(rates: xarray.DataArray, maps: str = "linear maps") -> Claim:
    """Judge Section 4.2, Figures 2b and 8 to 10: late maps suit early layers, not vice versa.

    Args:
        rates: Rates by the layer that a map was trained on and the layer that it is tested on.
        maps: Printed name of the maps.
    """
    up, down = directions(rates)
    # Transposed, the lower half stands over the upper one, pair by pair of layers.
    gain = mean_of((rates.values.T - rates.values)[np.triu_indices(len(rates), 1)])
    return Claim(
        "6. Maps of late layers suit early ones, not vice versa",
        f"{maps} find more in layers below theirs than in those above, on average over pairs of "
        "layers",
        "so in its figures (Section 4.2, Figures 2b and 8 to 10)",
        f"below {100 * down:.1f}%, above {100 * up:.1f}%; more by {gain.times(100):.1f}",
        within(gain, above=0),
    )


def directions(rates: xarray.DataArray) -> tuple[float, float]:
    """Return the mean rate on layers above the one trained on, and on those below."""
    above = np.triu(np.ones(rates.shape, dtype=bool), 1)
    # A single layer has no other to compare with.
    if not above.any():
        return float("nan"), float("nan")
    return float(rates.values[above].mean()), float(rates.values[above.T].mean())


def mixes(result: xarray.Dataset) -> Claim:
    """Judge Section 5.2, Figure 3a: the own contribution falls with depth."""
    medians = result["own_box"].sel(group="all", mark="median").values
    means = estimates(result, "own_mean", ("layer",), group="all")
    # Medians have no interval of their own, and borrow that of the mean.
    halves = (means.high - means.low) / 2
    layers = [around(*sample) for sample in zip(medians, halves, strict=True)]
    first, *_, last = published.OWN_MEDIANS.values()
    return Claim(
        "7. Own contribution falls with depth",
        "the median is smaller in every layer than in the one before, by the intervals of means",
        f"{first:g}% to {last:g}% (Figure 3a)",
        ", ".join(f"{100 * median:.1f}%" for median in medians),
        all_of(*(within(after.minus(before), below=0) for before, after in pairwise(layers))),
    )


def still_largest(result: xarray.Dataset) -> Claim:
    """Judge Section 5.2, Figure 3b: a token is mostly its largest contributor."""
    last = estimates(result, "not_largest", ("layer",)).at(-1)
    return Claim(
        "8. A token is mostly its largest contributor",
        "in the last layer another one contributes more for less than half of the tokens",
        f"{published.NOT_LARGEST[published.LAYERS]:g}% are not (Figure 3b)",
        f"{last:.1%} are not",
        within(last, below=MOST),
    )


def local(result: xarray.Dataset) -> Claim:
    """Judge Section 5.3, Figure 4b: context is local."""
    share = result["neighbour_share"]
    layers = share.sizes["layer"]
    beside = share["offset"].isin(published.NEAREST)
    # A missing neighbour must not make the others look larger: NaN stays NaN.
    least = share.sel(offset=list(published.NEAREST)).min("offset", skipna=False)
    leads = least - share.where(~beside).max("offset")
    near = int((leads > 0).sum())
    return Claim(
        "9. Context is local",
        "in every layer the two places that contribute most are those beside the token",
        "so in its figure (Section 5.3, Figure 4b)",
        f"in {near} of {layers} layers",
        all_of(*(within(float(lead), above=0) for lead in leads)),
    )


def far_context_is_deep(result: xarray.Dataset) -> Claim:
    """Judge Section 5.3, Figure 4a: near context comes in early, far context late."""
    share = result["by_distance_share"]
    near, far = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return Claim(
        "10. Near context comes in early, far context late",
        "nearest neighbours count most in an earlier layer than those from the 11th on",
        "layer 1 and layer 12",
        f"layer {near} and layer {far} of {share.sizes['layer']}",
        None if near is None or far is None else near < far,
    )


def layer_of_most(share: xarray.DataArray, distance: str) -> int | None:
    """Return the layer, from 1, in which neighbours at a distance count most; None for none."""
    of_layers = share.sel(distance=distance).values
    # Where two layers count most alike, neither is named.
    most = np.flatnonzero(of_layers == np.nanmax(of_layers, initial=-np.inf))
    return int(most[0]) + 1 if len(most) == 1 else None


def two_largest(share: xarray.DataArray) -> tuple[int, ...]:
    """Return the two places that contribute most, rising."""
    # Stable, so that of equal places the earlier is named.
    order = np.argsort(-share.fillna(-1).values, kind="stable")[:2]
    return tuple(sorted(int(place) for place in share["offset"].values[order]))
