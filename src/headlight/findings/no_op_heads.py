"""Heads whose weight goes where little norm follows."""

from collections.abc import Sequence

import numpy as np
import pandas
import xarray as xr
from numpy.typing import NDArray

from headlight.findings.candidates import MOST
from headlight.findings.category_shares import TOTALS, shares_by_key
from headlight.findings.thresholds import FAR_BELOW

TARGETS = ("cls", "sep", "punctuation", "sink")
"""Categories of keys to which heads attend in order to do nothing."""

Shares = NDArray[np.float64]


def no_op(
    result: xr.Dataset,
    *,
    targets: Sequence[str] = TARGETS,
    weight: float = MOST,
    ratio: float = 1 / FAR_BELOW,
) -> pandas.DataFrame:
    """Return, for every head, how much of its weight goes where little norm follows.

    A head that attends to a token whose transformed vector is short collects next to nothing: by
    its weights alone it would seem busy.

    Args:
        result: Survey, with sinks where ``ranks`` are among its numbers.
        targets: Categories of keys that count as such tokens, where the result has them.
        weight: Share of the weight from which on a head may be called a no-op.
        ratio: Smallest ratio of that share to the share of the norm.

    Returns:
        One row per head, the largest loss first: ``layer`` and ``head``, zero-based;
        ``weight_share`` and ``norm_share``, the shares of α and of ‖αf(x)‖ that go to the targets,
        between 0 and 1; their ``ratio``; what is ``lost`` between them, weight_share − norm_share,
        between −1 and 1; the ``target`` with most of the weight; whether the head is a ``no_op``.
        Heads that a layer does not have are left out; a head whose norms are all zero has no
        share of the norm (NaN), and is no no-op.

    Source: Kobayashi et al. (2020), Section 4.2, "How is no-op realized?"; the score is ours.
    """
    (categories, weights), (_, norms) = (shares_by_key(result, name) for name in TOTALS)
    chosen = np.array([name in targets for name in categories], dtype=bool)
    names = [name for name in categories if name in targets]
    weight_share = np.nansum(weights[..., chosen], axis=-1)
    norm_share = np.where(
        np.isnan(norms).all(axis=-1), np.nan, np.nansum(norms[..., chosen], axis=-1)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = weight_share / norm_share
    layers, heads = np.meshgrid(result["layer"].values, result["head"].values, indexing="ij")
    table = pandas.DataFrame(
        {
            "layer": layers.ravel(),
            "head": heads.ravel(),
            "weight_share": weight_share.ravel(),
            "norm_share": norm_share.ravel(),
            "ratio": ratios.ravel(),
            "lost": (weight_share - norm_share).ravel(),
            "target": _largest(weights[..., chosen], names),
            "no_op": ((weight_share >= weight) & (ratios >= ratio)).ravel(),
        }
    )
    observed = np.isfinite(weights).any(axis=-1).ravel()
    return table[observed].sort_values("lost", ascending=False, kind="stable", ignore_index=True)


def _largest(shares: Shares, names: Sequence[str]) -> list[str]:
    """Return the name of the largest share of every head; empty without any."""
    if not names:
        return [""] * (shares.shape[0] * shares.shape[1])
    rows = np.nan_to_num(shares.reshape(-1, len(names)), nan=-1.0)
    return [names[place] if rows[i, place] > 0 else "" for i, place in enumerate(rows.argmax(1))]
