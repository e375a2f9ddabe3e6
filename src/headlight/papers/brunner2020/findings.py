"""What the paper concludes from its figures, and whether it is so here."""

from collections.abc import Iterator

import numpy as np
import xarray

from headlight.papers.brunner2020.attention_results import counterexamples, identified, surveyed
from headlight.papers.brunner2020.contribution_neighbours import layer_of_most, two_largest
from headlight.papers.brunner2020.contribution_results import contributed
from headlight.papers.brunner2020.datasets import main_set
from headlight.papers.brunner2020.identity_layers import directions
from headlight.papers.brunner2020.identity_results import across_layers, same_layer
from headlight.papers.brunner2020.published_contribution import NEAREST, NOT_LARGEST, OWN_MEDIANS
from headlight.papers.brunner2020.published_identity import LINEAR_COSINE_LAST
from headlight.papers.findings import Finding, findings_exhibit
from headlight.papers.reproduction import Study
from headlight.papers.text import model_note
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Exhibit

UNCHANGED = 10.0
"""Outputs are the same if they change by at most so many times what rounding changes."""
IDENTIFIED = 0.8
"""Tokens mostly keep their identity if at least this share of them is found."""


def findings(study: Study, desk: ExhibitWriter) -> Exhibit:
    """The findings of Sections 3 to 5, each with the rule by which it holds or not."""
    found = [*_attention(study), *_identity(study), *_contribution(study)]
    source = "Brunner et al. (2020), Sections 3 to 5"
    note = "Every number is that of another exhibit on this page, where it is explained."
    return findings_exhibit(desk, found, source, [model_note(study), note])


def _attention(study: Study) -> Iterator[Finding]:
    lengths, tried = identified(study), counterexamples(study)
    yield not_identifiable(tried)
    yield less_correlated(lengths)
    yield peak_vanishes(surveyed(study)["share"].sel(query_category="all", key_category="sep"))


def not_identifiable(tried: xarray.Dataset) -> Finding:
    """Section 3.3: other distributions give the same output."""
    most, rounding = float(tried["difference"].max()), float(tried["rounding"].max())
    moved = float(tried["most"].max())
    return Finding(
        "1. Other attention has the same output",
        f"alternatives change outputs by at most {UNCHANGED:g} times what rounding does",
        "proven",
        f"change {most:.0e}, rounding {rounding:.0e}; {100 * moved:.0f}% of a row moved",
        bool(most <= UNCHANGED * rounding) and moved > 0,
    )


def less_correlated(lengths: xarray.Dataset) -> Finding:
    """Section 3.5, Figure 1a: the longer the text, the less is effective."""
    short, long = (float(lengths["effective_correlation"].isel(length=place)) for place in (0, -1))
    width = int(lengths["head_dim"].max())
    below = lengths["effective_correlation"].where(lengths["keys_mean"] < width, drop=True)
    exact = bool((below > 1 - 1e-6).all())
    return Finding(
        "2. Long texts: raw is not effective attention",
        f"correlation 1 below d_v = {width} tokens, and lower in the longest texts",
        "1 below 64 tokens, then falling",
        f"{short:.3f} in the shortest, {long:.2f} in the longest",
        exact and long < short - 1e-3,
    )


def peak_vanishes(share: xarray.DataArray) -> Finding:
    """Section 3.5, Figures 1b, 1c and 5: much of what goes to [SEP] moves nothing."""
    raw, effective = (
        float(share.sel(measure=measure).mean("head").max()) for measure in ("weight", "effective")
    )
    return Finding(
        "3. The peak of [SEP] is not effective",
        "largest mean of a layer less than half as large in effective attention",
        "it disappears",
        f"raw {100 * raw:.1f}%, effective {100 * effective:.1f}%",
        effective < raw / 2,
    )


def _identity(study: Study) -> Iterator[Finding]:
    name = main_set(study)
    found = same_layer(study, name, "linear")
    yield keeps_identity(found["rate_mean"].squeeze(drop=True))
    yield in_the_angle(found["rate"].isel(layer=-1).squeeze(("map", "offset", "fraction")))
    yield easier_downwards(across_layers(study, "linear", "cosine"))


def keeps_identity(rates: xarray.DataArray) -> Finding:
    """Section 4.2, Figure 2a."""
    last = float(rates.sel(loss="cosine").isel(layer=-1))
    return Finding(
        "4. Tokens keep their identity",
        f"linear maps find at least {100 * IDENTIFIED:.0f}% in the last layer (cosine)",
        f"{LINEAR_COSINE_LAST:g}%",
        f"{100 * last:.1f}%",
        last >= IDENTIFIED,
    )


def in_the_angle(rates: xarray.DataArray) -> Finding:
    """Section 4.2: cosine distance is more effective than L2; from the rates of each split."""
    cosine, square = (float(rates.sel(loss=loss).mean()) for loss in ("cosine", "l2"))
    difference = 100 * (rates.sel(loss="cosine") - rates.sel(loss="l2")).values
    many = len(difference) > 1
    error = difference.std(ddof=1) / len(difference) ** 0.5 if many else 0.0
    certainty = f"± {error:.2f}" if many else "one split"
    return Finding(
        "5. Identity is in the angle",
        "cosine finds more than L2 in the last layer (linear), by over two standard errors (±)",
        "cosine more than L2",
        f"cosine {100 * cosine:.2f}%, L2 {100 * square:.2f}%, {certainty}",
        bool(difference.mean() > 2 * error),
    )


def easier_downwards(across: xarray.Dataset) -> Finding:
    """Section 4.2, Figure 2b: maps of late layers do on early ones, and not the other way."""
    up, down = directions(across["rate_across_mean"].squeeze(drop=True))
    return Finding(
        "6. Maps of late layers suit early ones, not vice versa",
        "linear maps find more on average in layers below theirs than in those above",
        "yes",
        f"below {100 * down:.1f}%, above {100 * up:.1f}%",
        down > up,
    )


def _contribution(study: Study) -> Iterator[Finding]:
    found = contributed(study, main_set(study))
    yield mixes(found)
    yield still_largest(found)
    yield local(found)
    yield far_context_is_deep(found)


def mixes(found: xarray.Dataset) -> Finding:
    """Section 5.2, Figure 3a."""
    medians = found["own_box"].sel(group="all", mark="median").values
    return Finding(
        "7. Own contribution falls with depth",
        "the median is smaller in every layer than in the one before",
        f"{OWN_MEDIANS[1]:g}% to {OWN_MEDIANS[12]:g}%",
        f"{100 * medians[0]:.1f}% to {100 * medians[-1]:.1f}%",
        bool((np.diff(medians) < 0).all()),
    )


def still_largest(found: xarray.Dataset) -> Finding:
    """Section 5.2, Figure 3b."""
    last = float(found["not_largest"].isel(layer=-1))
    return Finding(
        "8. A token is mostly its largest contributor",
        "in the last layer another one contributes more for less than half of the tokens",
        f"{NOT_LARGEST[12]:g}% are not",
        f"{100 * last:.1f}% are not",
        last < 0.5,
    )


def local(found: xarray.Dataset) -> Finding:
    """Section 5.3, Figure 4b."""
    share = found["neighbour_share"]
    layers = share.sizes["layer"]
    near = sum(two_largest(share.isel(layer=layer)) == NEAREST for layer in range(layers))
    return Finding(
        "9. Context is local",
        "in every layer the two places that contribute most are those beside the token",
        "yes",
        f"in {near} of {layers} layers",
        near == layers,
    )


def far_context_is_deep(found: xarray.Dataset) -> Finding:
    """Section 5.3, Figure 4a."""
    share = found["by_distance_share"]
    near, far = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return Finding(
        "10. Near context comes in early, far context late",
        "nearest neighbours count most in an earlier layer than those from the 11th on",
        "layer 1 and layer 12",
        f"layer {near} and layer {far} of {share.sizes['layer']}",
        near < far,
    )
