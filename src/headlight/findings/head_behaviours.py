"""Names for behaviours of heads.

Source: Clark et al. (2019), Section 6 and Figure 6, and their released code.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import xarray

from headlight.errors import UsageError

BEHAVIOURS = ("next", "previous", "broad", "cls", "sep", "punctuation")
"""Behaviours that `behaviours` finds by itself; a head is named by the last one that it shows."""

OTHER = "other"
"""Name of a head without a behaviour."""

NEIGHBOUR, CATEGORY = 0.5, 0.6
"""Shares of the weight above which a head is named for a neighbour, or for a category of tokens."""

BROAD, BROAD_KEYS = 3.8, 128
"""Nats above which a head is broad, where texts have this many tokens."""

NOTHING: Mapping[tuple[int, int], str] = MappingProxyType({})


def behaviours(
    result: xarray.Dataset,
    *,
    linguistic: Mapping[tuple[int, int], str] = NOTHING,
    measure: str = "weight",
    broad: float | None = BROAD,
) -> xarray.DataArray:
    """Return the known behaviour of each head, by the released code; later rules override.

    More than half to the ``next`` or to the ``previous`` token; ``broad``; more than 60% to
    ``cls``, ``sep`` or ``punctuation``; the name in `linguistic`.

    Args:
        result: Result of a survey.
        linguistic: Names of heads, by (layer, head) from zero, found by other means.
        measure: Measure of the survey.
        broad: Entropy in nats above which a head is broad; 3.8 is for texts of 128 tokens.
            None takes the same share, 3.8 / ln 128, of the entropy of uniform attention over the
            texts of the survey.

    Returns:
        Names over ``(layer, head)``: one of `BEHAVIOURS`, of `linguistic`, or ``other``; empty
        where a layer has no such head.

    Raises:
        UsageError: The survey has no such measure, or a named head is not in it.
    """
    if measure not in result["measure"].values:
        raise UsageError(
            f"the survey has no measure {measure!r}; it has: "
            f"{', '.join(map(str, result['measure'].values))}."
        )
    of_measure = result.sel(measure=measure)
    entropy = of_measure["entropy"].sel(query_category="all")
    if broad is None:
        broad = BROAD / math.log(BROAD_KEYS) * float(of_measure["entropy_uniform"])
    to = of_measure["share"].sel(query_category="all")
    shows = {
        "next": of_measure["neighbour"].sel(offset=1) > NEIGHBOUR,
        "previous": of_measure["neighbour"].sel(offset=-1) > NEIGHBOUR,
        "broad": entropy > broad,
        **{name: to.sel(key_category=name) > CATEGORY for name in ("cls", "sep", "punctuation")},
    }
    names = np.where(entropy.isnull(), "", OTHER).astype(object)
    for behaviour in BEHAVIOURS:
        names[shows[behaviour].values] = behaviour
    named = entropy.drop_vars(["measure", "query_category"]).copy(data=names).rename("behaviour")
    for (layer, head), label in linguistic.items():
        if layer not in named["layer"].values or head not in named["head"].values:
            raise UsageError(f"head {head} of layer {layer} is named, and is not in the survey.")
        named.loc[layer, head] = label
    return named
