"""Observer of a part of a survey, and the blocks and layers that it receives."""

from collections.abc import Mapping
from typing import NamedTuple

from jaxtyping import Float, Int64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.measures import Scores
from headlight.reduce import Accumulator
from headlight.studies.survey.kernel_sums import made_by_kernel
from headlight.studies.survey.row_sums import Links, RowSums


class SeenBlock(NamedTuple):
    """Block of queries of a layer, or all of them.

    Attributes:
        scores: Measures of these queries, for access to single cells.
        sums: Sums of the rows of all measures.
    """

    scores: Scores
    sums: RowSums

    @property
    def record(self) -> LayerRecord:
        """Return the record of these queries."""
        return self.scores.record


class SeenLayer(NamedTuple):
    """Layer whose queries have all been seen.

    Attributes:
        record: Record of its last queries.
        scores: Measures of these queries, with the vectors of the whole layer.
        means: Statistics of the rows of each measure, averaged over queries.
    """

    record: LayerRecord
    scores: Scores
    means: Mapping[str, Mapping[str, Tensor]]


def single_rows(
    scores: Scores,
    name: str,
    text: Int64[Tensor, "..."],
    head: Int64[Tensor, "..."],
    query: Int64[Tensor, "..."],
) -> Float[Tensor, "*row key"]:
    """Return single rows of a measure.

    Args:
        scores: Measures of some queries.
        name: Name of the measure.
        text: Text of each row.
        head: Head of each row.
        query: Query of each row, counted from the first of these queries.
    """
    made = made_by_kernel(scores.record)
    if made is not None:
        return made.rows(name, text, head, query)
    return scores.of(name).detach()[text, head, query]


class PartObserver:
    """Observer of one batch, layer by layer; methods that are not overridden do nothing.

    Layers may come in blocks of queries, in their order.
    """

    wants_stream = False
    """Whether records should hold the input of the block."""
    wants_cells = False
    """Whether it reads most cells, so that it pays to write them."""
    links: Links | None = None
    """Keys among which the largest entry of each row is requested."""
    on_device: tuple[str, ...] = ()
    """Names of the attributes whose tensors `members` needs on the host."""

    def note_block(self, block: SeenBlock) -> None:
        """Observe a block of queries."""

    def note_layer(self, layer: SeenLayer) -> None:
        """Observe a layer as a whole, after all its blocks."""

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """Observe the loss of each text, after all layers of a backward pass."""

    def members(self) -> Mapping[str, Accumulator]:
        """Return the statistics of the batch, by name."""
        return {}


def inputs_of(record: LayerRecord) -> Float[Tensor, "batch key d_input"] | None:
    """Return the input vectors of the values of all keys; None where they are unknown."""
    return record.input if record.block is None else record.block.input
