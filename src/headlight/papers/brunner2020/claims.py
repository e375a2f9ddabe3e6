"""The rules by which the paper's conclusions hold, wherever they are shown."""

import numpy as np
import xarray

from headlight.findings.rules import FAR_BELOW, IDENTIFIED, MOST, UNCHANGED, is_far_below
from headlight.papers.brunner2020 import published
from headlight.papers.claims import Claim


def not_identifiable(tried: xarray.Dataset) -> Claim:
    """Section 3.3: other distributions give the same output."""
    most, rounding = float(tried["difference"].max()), float(tried["rounding"].max())
    moved = float(tried["most"].max())
    return Claim(
        "1. Other attention has the same output",
        f"alternatives change outputs by at most {UNCHANGED:g} times what rounding does",
        "proven",
        f"change {most:.0e}, rounding {rounding:.0e}; {100 * moved:.0f}% of a row moved",
        bool(most <= UNCHANGED * rounding) and moved > 0,
    )


def less_correlated(lengths: xarray.Dataset) -> Claim:
    """Section 3.5, Figure 1a: the longer the text, the less is effective."""
    short, long = (float(lengths["effective_correlation"].isel(length=place)) for place in (0, -1))
    width = int(lengths["head_dim"].max())
    below = lengths["effective_correlation"].where(lengths["keys_mean"] < width, drop=True)
    exact = bool((below > 1 - 1e-6).all())
    return Claim(
        "2. Long texts: raw is not effective attention",
        f"correlation 1 below d_v = {width} tokens, and lower in the longest texts",
        f"1 below {published.HEAD_DIM} tokens, then falling",
        f"{short:.3f} in the shortest, {long:.2f} in the longest",
        exact and long < short - 1e-3,
    )


def peak_vanishes(share: xarray.DataArray) -> Claim:
    """Section 3.5, Figures 1b, 1c and 5: much of what goes to [SEP] moves nothing."""
    raw, effective = (
        float(share.sel(measure=measure).mean("head").max()) for measure in ("weight", "effective")
    )
    return Claim(
        "3. The peak of [SEP] is not effective",
        f"largest mean of a layer at most {FAR_BELOW} times as large in effective attention",
        "it disappears",
        f"raw {100 * raw:.1f}%, effective {100 * effective:.1f}%",
        is_far_below(effective, raw),
    )


def keeps_identity(rates: xarray.DataArray) -> Claim:
    """Section 4.2, Figure 2a; from the rates of linear maps by loss and layer."""
    last = float(rates.sel(loss="cosine").isel(layer=-1))
    return Claim(
        "4. Tokens keep their identity",
        f"linear maps find at least {100 * IDENTIFIED:.0f}% in the last layer (cosine)",
        f"{published.LINEAR_COSINE_LAST:g}%",
        f"{100 * last:.1f}%",
        last >= IDENTIFIED,
    )


def in_the_angle(rates: xarray.DataArray) -> Claim:
    """Section 4.2: cosine distance is more effective than L2.

    Args:
        rates: of linear maps of the last layer, by loss and split.
    """
    cosine, square = (float(rates.sel(loss=loss).mean()) for loss in ("cosine", "l2"))
    difference = 100 * (rates.sel(loss="cosine") - rates.sel(loss="l2")).values
    many = len(difference) > 1
    error = difference.std(ddof=1) / len(difference) ** 0.5 if many else 0.0
    certainty = f"± {error:.2f}" if many else "one split"
    return Claim(
        "5. Identity is in the angle",
        "cosine finds more than L2 in the last layer (linear), by over two standard errors (±)",
        "cosine more than L2",
        f"cosine {100 * cosine:.2f}%, L2 {100 * square:.2f}%, {certainty}",
        bool(difference.mean() > 2 * error),
    )


def easier_downwards(rates: xarray.DataArray, maps: str = "linear maps") -> Claim:
    """Section 4.2, Figures 2b and 8 to 10: late maps do on early layers, and not vice versa.

    Args:
        rates: by the layer that a map was trained on and that it is tested on.
        maps: which they are.
    """
    up, down = directions(rates)
    return Claim(
        "6. Maps of late layers suit early ones, not vice versa",
        f"{maps} find more on average in layers below theirs than in those above",
        "yes",
        f"below {100 * down:.1f}%, above {100 * up:.1f}%",
        down > up,
    )


def directions(rates: xarray.DataArray) -> tuple[float, float]:
    """The mean rate on layers above the one trained on, and on those below."""
    above = np.triu(np.ones(rates.shape, dtype=bool), 1)
    if not above.any():
        return float("nan"), float("nan")
    return float(rates.values[above].mean()), float(rates.values[above.T].mean())


def mixes(found: xarray.Dataset) -> Claim:
    """Section 5.2, Figure 3a."""
    medians = found["own_box"].sel(group="all", mark="median").values
    first, *_, last = published.OWN_MEDIANS.values()
    return Claim(
        "7. Own contribution falls with depth",
        "the median is smaller in every layer than in the one before",
        f"{first:g}% to {last:g}%",
        f"{100 * medians[0]:.1f}% to {100 * medians[-1]:.1f}%",
        bool((np.diff(medians) < 0).all()),
    )


def still_largest(found: xarray.Dataset) -> Claim:
    """Section 5.2, Figure 3b."""
    last = float(found["not_largest"].isel(layer=-1))
    return Claim(
        "8. A token is mostly its largest contributor",
        "in the last layer another one contributes more for less than half of the tokens",
        f"{published.NOT_LARGEST[published.LAYERS]:g}% are not",
        f"{100 * last:.1f}% are not",
        last < MOST,
    )


def local(found: xarray.Dataset) -> Claim:
    """Section 5.3, Figure 4b."""
    share = found["neighbour_share"]
    layers = share.sizes["layer"]
    near = sum(two_largest(share.isel(layer=layer)) == published.NEAREST for layer in range(layers))
    return Claim(
        "9. Context is local",
        "in every layer the two places that contribute most are those beside the token",
        "yes",
        f"in {near} of {layers} layers",
        near == layers,
    )


def far_context_is_deep(found: xarray.Dataset) -> Claim:
    """Section 5.3, Figure 4a."""
    share = found["by_distance_share"]
    near, far = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return Claim(
        "10. Near context comes in early, far context late",
        "nearest neighbours count most in an earlier layer than those from the 11th on",
        "layer 1 and layer 12",
        f"layer {near} and layer {far} of {share.sizes['layer']}",
        near < far,
    )


def layer_of_most(share: xarray.DataArray, distance: str) -> int:
    """The layer, from 1, in which neighbours at a distance count most."""
    return int(share.sel(distance=distance).fillna(0).argmax("layer")) + 1


def two_largest(share: xarray.DataArray) -> tuple[int, ...]:
    """The two places that contribute most, rising."""
    order = np.argsort(-share.fillna(-1).values, kind="stable")[:2]
    return tuple(sorted(int(place) for place in share["offset"].values[order]))
