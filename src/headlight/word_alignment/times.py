"""Times of words, by a matrix between the pieces of a transcript and frames of sound.

Source: Radford et al. (2022), "Robust speech recognition via large-scale weak supervision", and the
word timing of its published code: what a piece gives to the frames that are heard, standardised
over the pieces, smoothed over time, and a path through it by dynamic time warping.
"""

import numpy as np
from jaxtyping import Float64, Int64

SMOOTHED = 7
"""Frames of the median filter."""

Maps = Float64[np.ndarray, "unit row frame"]


def standardised(maps: Maps) -> Maps:
    """Each frame with mean 0 and deviation 1 over the rows, smoothed along time.

    What all rows give to a frame alike says nothing of any of them.  A frame that all rows give the
    same has 0.
    """
    from scipy.ndimage import median_filter  # slow to import, and of no use to texts

    mean = maps.mean(1, keepdims=True)
    deviation = maps.std(1, keepdims=True)
    scaled = np.divide(maps - mean, deviation, out=np.zeros_like(maps), where=deviation > 0)
    smooth: Maps = median_filter(scaled, (1, 1, SMOOTHED), mode="mirror")
    return smooth


def row_starts(maps: Maps) -> Int64[np.ndarray, "unit row"]:
    """The frame at which each row begins on the path with the largest sum, in each map.

    A path leads from the first row and frame to the last ones; each step goes to the next row, the
    next frame, or both.  Rows may begin at the same frame.
    """
    units, rows, frames = maps.shape
    frame = np.arange(frames)
    sums = maps.cumsum(2)
    before = np.pad(sums, ((0, 0), (0, 0), (1, 0)))[:, :, :-1]
    entered = np.zeros((units, rows, frames), dtype=np.int64)
    diagonal = np.zeros((units, rows, frames), dtype=bool)
    best = sums[:, 0]  # the first row is entered at the first frame
    for row in range(1, rows):
        from_before = np.pad(best, ((0, 0), (1, 0)), constant_values=-np.inf)[:, :-1]
        diagonal[:, row] = from_before >= best
        entry = np.maximum(from_before, best) - before[:, row]
        highest = np.maximum.accumulate(entry, 1)
        entered[:, row] = np.maximum.accumulate(np.where(entry == highest, frame, 0), 1)
        best = highest + sums[:, row]
    starts = np.zeros((units, rows), dtype=np.int64)
    unit, at = np.arange(units), np.full(units, frames - 1)
    for row in range(rows - 1, 0, -1):
        at = entered[unit, row, at]
        starts[:, row] = at
        at = at - diagonal[unit, row, at]
    return starts


def on_path(
    maps: Maps, starts: Int64[np.ndarray, "unit row"], around: int
) -> Float64[np.ndarray, "unit row"]:
    """The share of each row that goes to its stretch of the path and some frames around it.

    Args:
        maps: Not below 0, as they were before they were standardised.
        starts: See `row_starts`; a row lasts to where the next begins, the last to the end.
        around: Frames on either side.

    Returns:
        NaN for a row that gives nothing.
    """
    frames = maps.shape[2]
    ends = np.concatenate([starts[:, 1:], np.full((len(starts), 1), frames)], 1)
    frame = np.arange(frames)
    inside = (frame >= starts[..., None] - around) & (frame < ends[..., None] + around)
    whole = maps.sum(2)
    nothing = np.full_like(whole, np.nan)
    shares: Float64[np.ndarray, "unit row"] = np.divide(
        (maps * inside).sum(2), whole, out=nothing, where=whole > 0
    )
    return shares


def word_stretches(
    starts: Int64[np.ndarray, "unit row"],
    words: Int64[np.ndarray, " row"],
    number: int,
    frames: int,
) -> Int64[np.ndarray, "unit word 2"]:
    """First frame of each word, and the first one after it.

    Args:
        starts: See `row_starts`.
        words: The word of each row, in order; -1 for what follows the last.
        number: Of words.
        frames: That are heard.
    """
    ends = np.concatenate([starts[:, 1:], np.full((len(starts), 1), frames)], 1)
    first = np.searchsorted(np.where(words < 0, number, words), np.arange(number))
    after = np.searchsorted(np.where(words < 0, number, words), np.arange(number), side="right")
    return np.stack([starts[:, first], ends[:, after - 1]], -1)
