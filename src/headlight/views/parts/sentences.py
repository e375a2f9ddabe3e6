"""Sentences that a result keeps, as lines from words to words."""

import numpy as np
import xarray as xr

from headlight.views.pictures import LinkDrawing


def sentence_links(here: xr.Dataset, title: str, note: str) -> LinkDrawing | None:
    """The sentence that a result keeps, as lines from words to what a head says of them.

    Those that are right are red; None where there is no sentence.

    Args:
        here: The result, of one measure and one of what was asked.
        title: Over the drawing.
        note: Under the title.
    """
    if "sentence_word" not in here:
        return None
    words = [str(word) for word in here["sentence_word"].values if word]
    if not words:
        return None
    found, right = (here[f"sentence_{name}"].values for name in ("found", "right"))
    asked = np.flatnonzero(found >= 0)
    weights = np.zeros((len(words), len(words)))
    weights[asked, found[asked].astype(int)] = 1
    links = [(int(word), int(found[word])) for word in asked if right[word]]
    return LinkDrawing(title, words, words, weights, [note], links=links, darkest=1.0)
