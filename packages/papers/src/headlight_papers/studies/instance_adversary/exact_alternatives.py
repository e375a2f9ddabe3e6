"""Other attention of exactly the same output, row by row."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.measures.alternatives import RowAlternatives, column_basis
from headlight.measures.null_space import with_ones
from headlight.observations.layer_arrays import array
from headlight_papers.classifiers.key_masks import KeyMask
from headlight_papers.studies.instance_adversary import Exact

GENERATOR = np.random.default_rng(0)
"""Random generator of further starts, of which there are none."""

Layer = Float64[np.ndarray, "batch head query key"]


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Other attention of a layer that leaves the outputs of its heads unchanged.

    Attributes:
        weight: Attention; rows without an alternative are unchanged.
        exists: Whether a row has an alternative.
    """

    weight: Layer
    exists: Bool[np.ndarray, "batch head query"]


def exact_rows(record: LayerRecord, keys: KeyMask, which: Exact) -> ExactRows:
    """Find an alternative of each row that takes part, in the left null space of [T, 1].

    Args:
        record: Record of the layer.
        keys: Mask of the keys that take part in each row.
        which: Choice of the first corner, or of the farthest that climbing from there finds.

    Source: Brunner et al. (2020), Section 3.3.
    """
    weight = array(record.weight)
    exists = np.zeros(weight.shape[:-1], dtype=bool)
    # With a column of ones, an alternative in its left null space still sums to 1.
    columns = array(with_ones(Scores(record).transformed))
    width = record.site.projection.weight.shape[2] + 1
    key_mask = keys[:, 0].cpu().numpy()
    for text, head in np.ndindex(*weight.shape[:2]):
        bases: dict[bytes, Float64[np.ndarray, "key column"]] = {}
        for query in np.flatnonzero(key_mask[text].any(-1)):
            part = key_mask[text, query]
            # Rows that see the same keys share a basis, as all rows of a text without causal mask
            # do.
            name = part.tobytes()
            if name not in bases:
                bases[name] = column_basis(columns[text, head][part], width)
            row = RowAlternatives(weight[text, head, query, part], bases[name])
            exists[text, head, query] = row.exist
            if row.exist:
                climbed = which == "farthest"
                change = row.farthest(GENERATOR, 1)[0] if climbed else row.corner()
                # Rounding leaves weights slightly below 0 at a corner, where they are 0.
                weight[text, head, query, part] = np.maximum(row.row + change, 0)
    return ExactRows(weight, exists)
