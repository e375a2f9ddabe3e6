"""Texts by their largest weight: the columns of Jain and Wallace (2019), Figures 6 to 9."""

import numpy as np
import pandas
from jaxtyping import Float

LARGEST = "largest weight"
"""The column of the labels."""
EDGES = (0.25, 0.5, 0.75, 1.0)
"""Up to which a largest weight goes in each column."""


def by_largest(weights: Float[np.ndarray, " text"]) -> "pandas.Categorical[str]":
    """The label of each text, ``≤ 0.5``, in the order of the weights."""
    labels = np.array([f"≤ {edge:g}" for edge in EDGES])
    place = np.digitize(weights, EDGES[:-1], right=True)
    return pandas.Categorical(labels[place].tolist(), labels.tolist(), ordered=True)
