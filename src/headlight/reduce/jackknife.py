"""Delete-a-group jackknife: the effect of groups of texts on a statistic; and shares."""

import numpy as np
from jaxtyping import Float64


def share(
    part: Float64[np.ndarray, "*cell"], whole: Float64[np.ndarray, "..."]
) -> Float64[np.ndarray, "*cell"]:
    """Return the share of a part in the whole; NaN where there is no whole."""
    share_of_whole: np.ndarray = part / np.where(whole > 0, whole, np.nan)
    return share_of_whole


def deviations(
    value: Float64[np.ndarray, "*cell"],
    without: Float64[np.ndarray, "group *cell"],
    whole: Float64[np.ndarray, "group *#cell"],
) -> tuple[Float64[np.ndarray, "group *cell"], Float64[np.ndarray, "*#cell"]]:
    """Return the effect of each group of texts on a statistic, and its degrees of freedom.

    The squares of the first add up to the squared standard error, that of the delete-a-group
    jackknife (Shao and Tu 1995) where groups are of one size.  A group of a share p of all texts
    moves a mean by (1 - p) times its change without that group; the square of this effect is
    p (1 - p) times the squared error on average where texts are independent.  Groups of different
    sizes count as fewer groups of one size, 1 / Σp².

    Args:
        value: Statistic of all texts.
        without: Statistic without the texts of each group.
        whole: Weight of each group.
    """
    total = whole.sum(0)
    share = whole / np.where(total != 0, total, np.nan)
    alike = (share**2).sum(0)
    remaining = np.where(alike < 1, 1 - alike, np.nan)
    # A group without weight moves nothing, even where there is no value without it (NaN).
    moved = np.where(share == 0, 0, (1 - share) * (without - value)) / np.sqrt(remaining)
    return np.asarray(moved), np.asarray(1 / alike - 1)
